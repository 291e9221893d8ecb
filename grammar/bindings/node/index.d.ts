type BaseNode = {
  type: string;
  named: boolean;
};

type ChildNode = {
  multiple: boolean;
  required: boolean;
  types: BaseNode[];
};

type NodeInfo =
  | (BaseNode & {
      subtypes: BaseNode[];
    })
  | (BaseNode & {
      fields: { [name: string]: ChildNode };
      children: ChildNode[];
    });

/**
 * A grammar, for `parser.setLanguage`.
 *
 * @example
 * import Parser from "tree-sitter";
 * import { xla_dump } from "tree-sitter-xla";
 *
 * const parser = new Parser();
 * parser.setLanguage(xla_dump);
 */
type Grammar = {
  /**
   * The inner language object.
   * @private
   */
  language: unknown;

  /** The content of `node-types.json`. */
  nodeTypeInfo: NodeInfo[];

  /** The query for syntax highlighting. */
  HIGHLIGHTS_QUERY: string;

  /** The query for other languages in the text. */
  INJECTIONS_QUERY: string;

  /** The query for folds. */
  FOLDS_QUERY: string;

  /** The query for symbols. */
  TAGS_QUERY: string;
};

/** The grammar of the memory dumps. */
export const xla_dump: Grammar;

/** The grammar of HLO text. */
export const hlo: Grammar;
