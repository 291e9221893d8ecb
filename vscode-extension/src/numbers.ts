/** Numbers as the reports and hovers of XLA Lens have them. */

const UNITS = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"] as const;

/** A size in a unit that fits: `1.42 TiB`. */
export function human(sizeBytes: number): string {
  if (Math.abs(sizeBytes) < 1024) return `${sizeBytes} B`;
  let power = 1;
  while (Math.abs(sizeBytes) >= 1024 ** (power + 1) && power < UNITS.length) power += 1;
  return `${(sizeBytes / 1024 ** power).toFixed(power === 1 ? 1 : 2)} ${UNITS[power - 1]}`;
}

/** A share: `12.5 %`. */
export function percent(part: number, whole: number): string {
  return whole ? `${((100 * part) / whole).toFixed(1)} %` : "-";
}

/** A number of things: `1 value`, `2,170 values`. */
export function counted(number: number, noun: string): string {
  return `${number.toLocaleString("en-US")} ${noun}${number === 1 ? "" : "s"}`;
}
