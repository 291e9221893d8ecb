"""Regular expressions that cost nothing until they are used."""

import re
from typing import Any, AnyStr, cast


def lazy_pattern(pattern: AnyStr, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[AnyStr]:
    """Return a regular expression that Python compiles when it is used for the first time.

    Modules define their patterns with it. To compile all of them took a twelfth of the start of the server, which uses
    few of them before its first answer. `re` does not take the result as an argument, only its methods can be called.
    """
    return cast("re.Pattern[AnyStr]", LazyPattern(pattern, flags))


class LazyPattern:
    """What `lazy_pattern` returns."""

    def __init__(self, pattern: str | bytes, flags: re.RegexFlag) -> None:
        self._arguments = pattern, flags

    def __getattr__(self, name: str) -> Any:
        """Look an attribute of the compiled pattern up, and keep it: Python asks only for those that are missing."""
        pattern: Any = re.compile(*self._arguments)
        found = self.__dict__[name] = getattr(pattern, name)
        return found
