"""Pictures in files and out of them again; knows no run and no data set. Needs PyAV, but for PNG."""

from vlassess.media.codecs import COMPACT, LOSSLESS, Codec, EncodeError, chosen
from vlassess.media.images import png, unpng
from vlassess.media.videos import VideoWriter, comment_of, count_of, frames_of, rate_of, stream_info, title_of

__all__ = [
    "COMPACT",
    "LOSSLESS",
    "Codec",
    "EncodeError",
    "VideoWriter",
    "chosen",
    "comment_of",
    "count_of",
    "frames_of",
    "png",
    "rate_of",
    "stream_info",
    "title_of",
    "unpng",
]
