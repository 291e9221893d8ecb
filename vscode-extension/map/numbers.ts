/** Numbers as people read them, worded and rounded as in reports and hovers (`server/xla_lens/render/numbers.py`). */

const UNITS = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
const GROUPED = new Intl.NumberFormat("en-US");
/** In a unit; finer steps are told in the next smaller one. */
const LEAST_STEP = 0.005;

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
  return GROUPED.format(number);
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
  let power = Math.max(0, Math.min(UNITS.length, Math.floor(Math.log(high) / Math.log(1024))));
  while (power > 0 && wanted / 1024 ** power < LEAST_STEP) power--;
  const unit = 1024 ** power;
  const step = roundUp(power ? wanted / unit : Math.max(1, wanted));
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const format = new Intl.NumberFormat("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  const ticks = [];
  for (let number = Math.ceil(low / unit / step - 1e-9); number * step * unit <= high; number++) {
    const words = format.format(number * step);
    ticks.push({ sizeBytes: number * step * unit, words: number ? `${words} ${power ? UNITS[power - 1] : "B"}` : "0" });
  }
  return ticks;
}

/** The least of 1, 2 and 5 times a power of ten that is not less than what is wanted. */
function roundUp(wanted: number): number {
  const power = Math.floor(Math.log10(wanted));
  const parts = wanted / 10 ** power;
  const round = [1, 2, 5, 10].find((round) => round >= parts - 1e-9)!;
  return power < 0 ? round / 10 ** -power : round * 10 ** power;
}

/** As Python rounds: halves, which only eighths (two decimals) and quarters (one) can be, to the even digit. */
function fixed(number: number, digits: 1 | 2): string {
  const scaled = number * 10 ** digits;
  const isHalf = Number.isInteger(number * (digits === 1 ? 4 : 8)) && Math.abs(scaled % 1) === 0.5;
  return (isHalf ? (2 * Math.round(scaled / 2)) / 10 ** digits : number).toFixed(digits);
}
