/** Numbers as people read them, worded and rounded as in reports and hovers (`server/xla_lens/render/numbers.py`). */

const UNITS = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/** A size in a unit that fits: `1.42 TiB`. */
export function human(sizeBytes: number): string {
  if (Math.abs(sizeBytes) < 1024) return `${sizeBytes} B`;
  let power = 1;
  while (Math.abs(sizeBytes) >= 1024 ** (power + 1) && power < UNITS.length) power++;
  return `${fixed(sizeBytes / 1024 ** power, power === 1 ? 1 : 2)} ${UNITS[power - 1]}`;
}

/** A size in bytes, and in a unit that fits where that is another: `1.50 KiB (1,536 bytes)`. */
export function exact(sizeBytes: number): string {
  return Math.abs(sizeBytes) < 1024 ? `${sizeBytes} B` : `${human(sizeBytes)} (${grouped(sizeBytes)} bytes)`;
}

/** A share: `12.5 %`. */
export function percent(part: number, whole: number): string {
  return whole ? `${fixed((100 * part) / whole, 1)} %` : "-";
}

/** A number of things: `1 value`, `2,170 values`. */
export function counted(number: number, noun: string): string {
  return `${grouped(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** A whole number: `2,170`. */
export function grouped(number: number): string {
  return number.toLocaleString("en-US");
}

/**
 * The bytes of a size as people write it: `16GiB`, `16G`, `1.5 MiB` or `4096`, always in powers of 1024; null if it is
 * none.
 */
export function parseSize(text: string): number | null {
  const match = /^\s*(\d{1,20}(?:\.\d+)?)\s*(?:([KMGTPE])i?B?|B)?\s*$/i.exec(text);
  if (!match) return null;
  const power = match[2] ? "KMGTPE".indexOf(match[2].toUpperCase()) + 1 : 0;
  return Math.floor(Number(match[1]) * 1024 ** power);
}

/**
 * Some round sizes between two, about `count` of them, and the words for each: all in one unit, with as many decimals
 * as it takes to tell them apart.
 */
export function sizeTicks(low: number, high: number, count: number): { sizeBytes: number; words: string }[] {
  const wanted = (high - low) / Math.max(1, count);
  if (!(wanted > 0)) return [];
  const step = roundStep(Math.max(1, wanted));
  let power = 0;
  while (power < UNITS.length && high >= 1024 ** (power + 1) && decimals(step / 1024 ** (power + 1)) <= 3) power++;
  const digits = decimals(step / 1024 ** power);
  const ticks = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high; tick += step) {
    const number = (tick / 1024 ** power).toLocaleString("en-US", {
      minimumFractionDigits: digits,
      maximumFractionDigits: digits,
    });
    ticks.push({ sizeBytes: tick, words: tick === 0 ? "0" : `${number} ${power ? UNITS[power - 1] : "B"}` });
  }
  return ticks;
}

/** The least of 1, 2, 5, 10 ... 500 (and in bytes, 1000) of a unit that is not less than what is wanted. */
function roundStep(wanted: number): number {
  const power = Math.floor(Math.log(wanted) / Math.log(1024));
  const unit = 1024 ** power;
  for (const scale of [1, 10, 100]) {
    for (const round of [1, 2, 5]) if (round * scale * unit >= wanted) return round * scale * unit;
  }
  return 1024 * unit;
}

/** How many decimals a number takes, at most 4. */
function decimals(number: number): number {
  let digits = 0;
  while (digits < 4 && Math.abs(number * 10 ** digits - Math.round(number * 10 ** digits)) > 1e-9) digits++;
  return digits;
}

/** As Python rounds: halves, which only eighths (two decimals) and quarters (one) can be, to the even digit. */
function fixed(number: number, digits: 1 | 2): string {
  const scaled = number * 10 ** digits;
  const isHalf = Number.isInteger(number * (digits === 1 ? 4 : 8)) && Math.abs(scaled % 1) === 0.5;
  return (isHalf ? (2 * Math.round(scaled / 2)) / 10 ** digits : number).toFixed(digits);
}
