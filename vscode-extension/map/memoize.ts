/** A cache for functions that are called in each frame with arguments that seldom change. */

/** Wrap a function so that it returns its last result while the arguments are the same. */
export function memoizeLast<Arguments extends unknown[], Result>(
  make: (...given: Arguments) => Result,
): (...given: Arguments) => Result {
  let last: { given: Arguments; result: Result } | undefined;
  return (...given) => {
    if (!last || given.some((argument, index) => argument !== last!.given[index]))
      last = { given, result: make(...given) };
    return last.result;
  };
}
