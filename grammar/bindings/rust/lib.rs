//! Grammars for the text that the XLA compiler dumps, for the [tree-sitter] parsing library: [`xla_dump`] for
//! buffer assignments, live ranges and memory usage reports, [`hlo`] for HLO modules.
//!
//! ```
//! let code = "HloLiveRange (max 1):\n  InstructionSequence:\n    0:p0\n";
//! let mut parser = tree_sitter::Parser::new();
//! parser
//!     .set_language(&tree_sitter_xla::xla_dump::LANGUAGE.into())
//!     .expect("Error loading the grammar of XLA's dumps");
//! let tree = parser.parse(code, None).unwrap();
//! assert!(!tree.root_node().has_error());
//! ```
//!
//! [tree-sitter]: https://tree-sitter.github.io/

/// The grammar of the memory dumps.
pub mod xla_dump {
    use tree_sitter_language::LanguageFn;

    extern "C" {
        fn tree_sitter_xla_dump() -> *const ();
    }

    /// The tree-sitter [`LanguageFn`] of this grammar.
    pub const LANGUAGE: LanguageFn = unsafe { LanguageFn::from_raw(tree_sitter_xla_dump) };
    /// The content of `node-types.json`.
    pub const NODE_TYPES: &str = include_str!("../../xla_dump/src/node-types.json");
    /// The query for syntax highlighting.
    pub const HIGHLIGHTS_QUERY: &str = include_str!("../../xla_dump/queries/highlights.scm");
    /// The query for other languages in the text.
    pub const INJECTIONS_QUERY: &str = include_str!("../../xla_dump/queries/injections.scm");
    /// The query for folds.
    pub const FOLDS_QUERY: &str = include_str!("../../xla_dump/queries/folds.scm");
    /// The query for symbols.
    pub const TAGS_QUERY: &str = include_str!("../../xla_dump/queries/tags.scm");
}

/// The grammar of HLO text.
pub mod hlo {
    use tree_sitter_language::LanguageFn;

    extern "C" {
        fn tree_sitter_hlo() -> *const ();
    }

    /// The tree-sitter [`LanguageFn`] of this grammar.
    pub const LANGUAGE: LanguageFn = unsafe { LanguageFn::from_raw(tree_sitter_hlo) };
    /// The content of `node-types.json`.
    pub const NODE_TYPES: &str = include_str!("../../hlo/src/node-types.json");
    /// The query for syntax highlighting.
    pub const HIGHLIGHTS_QUERY: &str = include_str!("../../hlo/queries/highlights.scm");
    /// The query for other languages in the text.
    pub const INJECTIONS_QUERY: &str = include_str!("../../hlo/queries/injections.scm");
    /// The query for folds.
    pub const FOLDS_QUERY: &str = include_str!("../../hlo/queries/folds.scm");
    /// The query for symbols.
    pub const TAGS_QUERY: &str = include_str!("../../hlo/queries/tags.scm");
}

#[cfg(test)]
mod tests {
    fn parse(language: tree_sitter_language::LanguageFn, text: &str, queries: [&str; 4]) {
        let language = tree_sitter::Language::new(language);
        let mut parser = tree_sitter::Parser::new();
        parser.set_language(&language).expect("the library supports the version of the grammar");
        assert!(!parser.parse(text, None).unwrap().root_node().has_error());
        for query in queries {
            tree_sitter::Query::new(&language, query).expect("the query is valid");
        }
    }

    #[test]
    fn test_can_load_xla_dump() {
        use super::xla_dump::*;
        let text = "HloLiveRange (max 1):\n  InstructionSequence:\n    0:p0\n";
        parse(LANGUAGE, text, [HIGHLIGHTS_QUERY, INJECTIONS_QUERY, FOLDS_QUERY, TAGS_QUERY]);
    }

    #[test]
    fn test_can_load_hlo() {
        use super::hlo::*;
        let text = "HloModule f\n\nENTRY main {\n  ROOT p0 = f32[2]{0} parameter(0)\n}\n";
        parse(LANGUAGE, text, [HIGHLIGHTS_QUERY, INJECTIONS_QUERY, FOLDS_QUERY, TAGS_QUERY]);
    }
}
