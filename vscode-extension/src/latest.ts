/** Drops the answers of requests that a later one has replaced. */

/** Return a function that begins a request. What that returns says whether no later request has begun. */
export function latestOnly(): () => () => boolean {
  let latest = 0;
  return () => {
    latest += 1;
    const own = latest;
    return () => own === latest;
  };
}
