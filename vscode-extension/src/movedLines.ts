/** Where the lines of a text are after edits. */

/** A change of a text, as the editor reports it. */
export interface Change {
  range: { start: Place; end: Place };
  text: string;
}

interface Place {
  line: number;
  character: number;
}

/** A text that was on disk since `time`: where the first character of each of its lines is now, blanks excluded. */
interface Version {
  time: number;
  places: Place[];
}

const MOST_VERSIONS = 32;

/**
 * Follows the lines of a text through edits. Each time the text is saved it is a version that a later dump may be of. The
 * first version is kept, and the last ones.
 */
export class MovedLines {
  private versions: Version[];

  constructor(lines: readonly string[], time: number) {
    this.versions = [versionOf(lines, time)];
  }

  change(changes: readonly Change[]): void {
    for (const { places } of this.versions) {
      places.forEach((place, row) => {
        places[row] = changes.reduce(moved, place);
      });
    }
  }

  save(lines: readonly string[], time: number): void {
    const [first, ...others] = this.versions;
    this.versions = [first!, ...others.slice(2 - MOST_VERSIONS), versionOf(lines, time)];
  }

  /** Return where a line is now that a dump of some time names. Lines count from 0. */
  at(line: number, dumpTime: number): number {
    const version = this.versions.findLast(({ time }) => time <= dumpTime) ?? this.versions[0]!;
    return (version.places[line] ?? version.places.at(-1))?.line ?? 0;
  }
}

function versionOf(lines: readonly string[], time: number): Version {
  return { time, places: lines.map((text, line) => ({ line, character: text.length - text.trimStart().length })) };
}

/** Return where a place is after a change. One within replaced text moves to its start. */
function moved(place: Place, { range: { start, end }, text }: Change): Place {
  if (!isBefore(place, end)) {
    const lines = text.split("\n");
    const line = start.line + lines.length - 1;
    const last = (lines.length === 1 ? start.character : 0) + (lines.at(-1)?.length ?? 0);
    const character = place.line === end.line ? place.character - end.character + last : place.character;
    return { line: place.line - end.line + line, character };
  }
  return isBefore(start, place) ? start : place;
}

function isBefore(one: Place, other: Place): boolean {
  return one.line < other.line || (one.line === other.line && one.character < other.character);
}
