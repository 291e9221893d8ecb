/**
 * @file HLO text as XLA prints it: so far the instructions that a buffer assignment dump quotes (HloInstruction::ToString),
 *   and shapes standing alone (ShapeUtil::HumanStringWithLayout).
 * @license Apache-2.0
 */

/// <reference types="tree-sitter-cli/dsl" />
// @ts-check

const commas = (/** @type {RuleOrLiteral} */ rule) => optional(seq(rule, repeat(seq(',', rule))));

module.exports = grammar({
  name: 'hlo',

  extras: $ => [/\s/, $.comment],

  rules: {
    source_file: $ => optional(choice($.instruction, $._shape)),

    instruction: $ => seq(
      optional($.root),
      field('name', $.name), '=', field('shape', $._shape),
      choice(
        seq(field('opcode', $.opcode), field('operands', $.operands)),
        // Their operand is a number, or a literal of any nesting.
        seq(field('opcode', alias(choice('constant', 'parameter'), $.opcode)), field('operands', alias($._literal, $.literal))),
      ),
      repeat(seq(',', $._attribute)),
    ),
    root: _ => 'ROOT',
    operands: $ => seq('(', commas($.operand), ')'),
    // The shape of an operand was printed until jaxlib 0.5.1.
    operand: $ => seq(field('shape', optional($._shape)), field('name', $.name)),
    _literal: $ => seq('(', repeat(choice($._item, ',', '=')), ')'),

    // ------------------------------------------------------------ shapes

    _shape: $ => choice($.array_shape, $.tuple_shape, $.buffer_shape),
    array_shape: $ => seq(
      field('type', $.primitive_type), field('dimensions', $.dimensions), field('layout', optional($.layout)),
    ),
    dimensions: $ => seq('[', commas($.dimension), ']'),
    // `<=8` is bounded, `?` is unbounded.
    dimension: $ => choice(seq(optional('<='), $.integer), '?'),
    tuple_shape: $ => seq('(', commas(field('element', $._shape)), ')'),
    buffer_shape: $ => seq('b', token.immediate('('), field('shape', $._shape), ')'),

    // Layout::ToString.
    layout: $ => seq(
      '{', field('minor_to_major', optional($.minor_to_major)),
      optional(seq(':', repeat($._layout_property))),
      '}',
    ),
    minor_to_major: $ => seq($.integer, repeat(seq(',', $.integer))),
    _layout_property: $ => choice(
      seq('T', repeat1(field('tile', $.tile))),
      seq('S', '(', field('memory_space', $.integer), ')'),
      seq('E', '(', field('element_bits', $.integer), ')'),
      seq('L', '(', field('tail_padding_alignment', $.integer), ')'),
      seq('SC', repeat1(field('split', $.split))),
      seq('M', '(', field('dynamic_shape_metadata_prefix_bytes', $.integer), ')'),
      seq('P', '(', field('physical_shape', $._shape), ')'),
      seq('#', '(', field('index_type', $.primitive_type), ')'),
      seq('*', '(', field('pointer_type', $.primitive_type), ')'),
      seq('D', '(', field('dimension_level_types', $.level_types), ')'),
    ),
    tile: $ => seq('(', commas(choice($.integer, '*')), ')'),
    split: $ => seq('(', field('dimension', $.integer), ':', commas($.integer), ')'),
    level_types: _ => /[A-Za-z~+!,]+/,

    // ------------------------------------------------------------ attributes

    _attribute: $ => choice($.metadata, $.attribute),
    metadata: $ => seq('metadata', '=', '{', repeat($.metadata_field), '}'),
    metadata_field: $ => seq(field('name', $.key), '=', field('value', choice($.string, $.word, $.block))),
    attribute: $ => seq(field('name', $.key), '=', field('value', $.attribute_value)),
    attribute_value: $ => prec.right(repeat1($._item)),

    // Anything in pairs of brackets: JSON, literals, shardings, windows, lists of computations.
    block: $ => choice(
      seq('{', repeat(choice($._item, ',', '=')), '}'),
      seq('(', repeat(choice($._item, ',', '=')), ')'),
      seq('[', repeat(choice($._item, ',', '=')), ']'),
    ),
    _item: $ => choice($.string, $.block, alias($._reference, $.name), $.word, '<=', '"'),

    // Before `name`, which it is preferred to: an operand may be either.
    primitive_type: _ => /pred|token|opaque|bf16|[sufc][0-9]+[a-z0-9]*/,
    name: _ => /%[^\s{}()\[\]",=%]+|[A-Za-z_][A-Za-z0-9_.#-]*/,
    _reference: _ => /%[^\s{}()\[\]",=%]+/,
    opcode: _ => /[a-z][a-z0-9-]*/,
    key: _ => /[A-Za-z_][A-Za-z0-9_.-]*/,
    integer: _ => /-?[0-9]+/,
    word: _ => /[^\s{}()\[\]",=%]+/,
    string: _ => /"([^"\\]|\\(.|\n))*"/,
    comment: _ => /\/\*[^*]*\*\//,
  },
});
