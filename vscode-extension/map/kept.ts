/** What is asked for at each frame, and seldom changes. */

/** A function that remembers its last answer. */
export function kept<Arguments extends unknown[], Result>(
  make: (...told: Arguments) => Result,
): (...told: Arguments) => Result {
  let last: { told: Arguments; result: Result } | undefined;
  return (...told) => {
    if (!last || told.some((argument, place) => argument !== last!.told[place])) last = { told, result: make(...told) };
    return last.result;
  };
}
