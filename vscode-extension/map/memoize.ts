/** Caches for what is computed or drawn in each frame, although what it depends on seldom changes. */

/** Wrap a function so that it returns its last result while the arguments are the same. */
export function memoizeLast<Arguments extends unknown[], Result>(
  make: (...given: Arguments) => Result,
): (...given: Arguments) => Result {
  const isNew = changes();
  let result: Result;
  return (...given) => {
    if (isNew(...given)) result = make(...given);
    return result;
  };
}

/** Return a function that says whether its arguments differ from those of the call before. */
export function changes(): (...given: unknown[]) => boolean {
  let last: unknown[] | undefined;
  return (...given) => {
    const before = last;
    last = given;
    return before?.length !== given.length || given.some((argument, index) => argument !== before[index]);
  };
}
