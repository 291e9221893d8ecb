/**
 * Number formats of the user interface, the same as in reports and hovers.
 *
 * `server/xla_lens/words/numbers.py` has the same functions. They are implemented here as well because the page formats
 * numbers in every frame and without a server; tests hold both against `test/map/data/numbers.json`.
 */

export const UNITS = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
const GROUPED = new Intl.NumberFormat("en-US");
const rounded = (digits: number) =>
  new Intl.NumberFormat("en-US", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
    useGrouping: false,
    roundingMode: "halfEven",
  });
/** Formats that round as Python does, ties to even. */
const [ONE_DIGIT, TWO_DIGITS, THREE_DIGITS] = [rounded(1), rounded(2), rounded(3)];

/** A size in a unit that fits: `1.42 GiB`, and from TiB on with a third decimal, so that it shows 10 GiB. */
export function human(sizeBytes: number): string {
  if (Math.abs(sizeBytes) < 1024) return `${sizeBytes} B`;
  let power = 1;
  while (Math.abs(sizeBytes) >= 1024 ** (power + 1) && power < UNITS.length) power++;
  const digits = power === 1 ? ONE_DIGIT : power < 4 ? TWO_DIGITS : THREE_DIGITS;
  return `${digits.format(sizeBytes / 1024 ** power)} ${UNITS[power - 1]}`;
}

/** A size in a unit that fits, followed by bytes unless bytes are that unit: `1.50 KiB (1,536 bytes)`. */
export function exact(sizeBytes: number): string {
  return Math.abs(sizeBytes) < 1024 ? `${sizeBytes} B` : `${human(sizeBytes)} (${grouped(sizeBytes)} bytes)`;
}

/** A share: `12.5 %`. */
export function percent(part: number, whole: number): string {
  return whole ? `${ONE_DIGIT.format((100 * part) / whole)} %` : "-";
}

/** A change of bytes, with its sign: `+2.25 MiB`, `−512 B`. */
export function changeText(sizeBytes: number): string {
  return (sizeBytes < 0 ? "−" : "+") + human(Math.abs(sizeBytes));
}

/** A number of things: `1 value`, `2,170 values`. */
export function counted(number: number, noun: string): string {
  return `${grouped(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** Facts in one line, without those that are missing. */
export function joined(...facts: (string | false | undefined)[]): string {
  return facts.filter(Boolean).join(" · ");
}

/** A text with a capital first letter. */
export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A whole number: `2,170`. */
export function grouped(number: number): string {
  return GROUPED.format(number);
}

/** Parse a size such as `16GiB`, `16GB` or `4096` to bytes; null if it is invalid. `GiB` and `G` are 2^30, `GB` is 10^9. */
export function parseSize(text: string): number | null {
  const match = /^\s*(\d{1,20}(?:\.\d+)?)\s*(?:([KMGTPE])(i?B?)|B)?\s*$/i.exec(text);
  if (!match) return null;
  const power = match[2] ? "KMGTPE".indexOf(match[2].toUpperCase()) + 1 : 0;
  const unit = (match[3]?.toUpperCase() === "B" ? 1000 : 1024) ** power;
  return Math.floor(Number(match[1]) * unit + 0.5);
}
