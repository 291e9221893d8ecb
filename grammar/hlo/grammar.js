/**
 * @file HLO text as XLA prints it: whole modules (HloModule::ToString), single instructions as a buffer assignment dump
 *   quotes them (HloInstruction::ToString), and single shapes (ShapeUtil::HumanStringWithLayout).
 *
 * A module may have a million instructions. To keep its tree small, array shapes, literals and plain values are leaves
 * there; each can be parsed alone when its parts are needed.
 * @license Apache-2.0
 */

/// <reference types="tree-sitter-cli/dsl" />
// @ts-check

const commas = (/** @type {RuleOrLiteral} */ rule) => optional(commas1(rule));
const commas1 = (/** @type {RuleOrLiteral} */ rule) => seq(rule, repeat(seq(',', rule)));

const number = (/** @type {GrammarSymbols<string>} */ $, /** @type {string} */ name) =>
  seq(name, '=', field(name, $.integer));

/** A pair of brackets with the text between them, which may nest further pairs up to `depth` levels. */
const nested = (/** @type {string} */ open, /** @type {string} */ close, /** @type {string} */ plain, /** @type {number} */ depth) =>
  `${open}(${plain}${depth ? `|${nested(open, close, plain, depth - 1)}` : ''})*${close}`;

const TYPE = 'pred|token|opaque|bf16|[sufc][0-9]+[a-z0-9]*';
const PHYSICAL_SHAPE = nested('\\{', '\\}', '[^\\s{}"=%]', 1);
const PLAIN = '[^\\s{}()\\[\\]",=%]';
const LITERAL = nested('\\(', '\\)', '[^()\\n]', 3);
const PLAIN_LIST = '\\([^()\\n]*\\)|\\[[^\\[\\]\\n]*\\]';

// A trailing comma is left where a line is cut off.
const LINE_END = seq(optional(','), '\n');

export default grammar({
  name: 'hlo',

  extras: $ => [/\s/, $.comment],

  rules: {
    source_file: $ => optional(choice($.module, $.instruction, $._shape)),

    // ------------------------------------------------------------ modules

    // Instructions stand outside of computations only if the first line of their computation is broken.
    module: $ => seq(
      choice($.module_header, $._module_part),
      repeat(choice($._module_part, $._line)),
    ),
    _line: $ => seq(alias($._module_instruction, $.instruction), '\n'),
    module_header: $ => seq(
      'HloModule', field('name', alias($._module_name, $.name)), repeat(seq(',', $._module_attribute)), optional(LINE_END),
    ),
    _module_part: $ => choice($.file_names, $.function_names, $.file_locations, $.stack_frames, $.computation),

    // StackFrameIndexProto: the tables that resolve the `stack_frame_id` of instructions.
    file_names: $ => seq('FileNames', repeat($.file_name)),
    file_name: $ => seq(field('id', $.integer), field('name', $.string)),
    function_names: $ => seq('FunctionNames', repeat($.function_name)),
    function_name: $ => seq(field('id', $.integer), field('name', $.string)),
    file_locations: $ => seq('FileLocations', repeat($.file_location)),
    file_location: $ => seq(
      field('id', $.integer), '{',
      repeat(choice(
        ...['file_name_id', 'function_name_id', 'line', 'end_line', 'column', 'end_column'].map(name => number($, name)),
        $._other_number,
      )),
      '}',
    ),
    stack_frames: $ => seq('StackFrames', repeat($.stack_frame)),
    stack_frame: $ => seq(
      field('id', $.integer), '{',
      repeat(choice(number($, 'file_location_id'), number($, 'parent_frame_id'), $._other_number)),
      '}',
    ),
    _other_number: $ => seq($.key, '=', $.integer),

    // jaxlib 0.4 and TensorFlow 2.16 printed the short form without parameters.
    // A file that is cut off lacks the closing bracket.
    computation: $ => prec.right(seq(
      optional($.entry), field('name', $.name),
      optional(seq(field('parameters', $.parameters), '->', field('result', $._module_shape))),
      '{', repeat($._line),
      optional(seq('}', optional(seq(repeat1(seq(',', $._module_attribute)), optional(LINE_END))))),
    )),
    entry: _ => 'ENTRY',
    parameters: $ => seq('(', commas($.parameter), ')'),
    parameter: $ => seq(field('name', $.name), ':', field('shape', $._module_shape)),

    _module_instruction: $ => seq(
      optional($.root),
      field('name', $.name), '=', field('shape', $._module_shape),
      choice(
        seq(field('opcode', $.opcode), field('operands', alias($._module_operands, $.operands))),
        seq(
          field('opcode', alias(choice('constant', 'parameter'), $.opcode)),
          field('operands', alias($._module_literal, $.literal)),
        ),
      ),
      repeat(seq(',', $._module_attribute)), optional(','),
    ),
    _module_operands: $ => seq('(', commas(alias($._module_operand, $.operand)), ')'),
    // Since jaxlib 0.11 an operand may be an element of a tuple, or of a tuple within it: `%while.5#1`, `%fusion#7#1`.
    _module_operand: $ => seq(
      field('shape', optional($._module_shape)), field('name', alias($._operand_name, $.name)),
      repeat(seq(token.immediate('#'), field('element', $.integer))),
    ),
    _module_literal: _ => token(new RegExp(LITERAL)),

    _module_shape: $ => choice(
      alias($._module_array_shape, $.array_shape),
      alias($._module_tuple_shape, $.tuple_shape),
      alias($._module_buffer_shape, $.buffer_shape),
    ),
    _module_array_shape: _ => token(new RegExp(`(${TYPE})\\[[0-9,<=?]*\\](${PHYSICAL_SHAPE})?`)),
    _module_tuple_shape: $ => seq('(', commas(field('element', $._module_shape)), ')'),
    _module_buffer_shape: $ => seq('b(', field('shape', $._module_shape), ')'),

    _module_attribute: $ => choice(
      alias($._module_metadata, $.metadata),
      alias($._calling_attribute, $.attribute),
      alias($._plain_attribute, $.attribute),
    ),
    // A file that is cut off may end anywhere within it.
    _module_metadata: $ => seq(
      'metadata', '=', '{', repeat(alias($._module_metadata_field, $.metadata_field)), optional('}'),
    ),
    _module_metadata_field: $ => seq(
      field('name', $.key),
      optional(seq('=', field('value', choice($._module_string, $.word, alias($._module_block, $.block))))),
    ),
    _module_string: $ => choice($.string, alias($._open_string, $.string)),
    _calling_attribute: $ => seq(
      field('name', alias($._calling_key, $.key)), '=',
      field('value', alias($._called, $.attribute_value)),
    ),
    _plain_attribute: $ => seq(field('name', $.key), '=', field('value', alias($._module_value, $.attribute_value))),
    _module_value: $ => prec.right(repeat1(choice(
      $.string, alias($._reference, $.name), alias($._module_block, $.block), $._plain_value,
    ))),
    // A line within it does not begin with a word, so that an unclosed block does not swallow the next instruction.
    _module_block: $ => choice(
      seq(
        '{', repeat($._module_item),
        repeat(seq('\n', optional(seq(choice($._nested_item, $._next_text), repeat($._module_item))))),
        '}',
      ),
      seq('{', commas1(alias($._reference, $.name)), '}'),
    ),
    _module_item: $ => choice($._nested_item, $._plain_text),
    _nested_item: $ => choice($.string, alias($._module_block, $.block)),
    _called: $ => choice($.name, alias($._names, $.block)),
    _names: $ => seq('{', commas($.name), '}'),
    // Their values are names of computations or instructions, in the short form without `%`.
    _calling_key: _ => choice(
      'calls', 'to_apply', 'body', 'condition', 'select', 'scatter', 'branch_computations', 'called_computations',
      'true_computation', 'false_computation', 'control-predecessors',
    ),

    // ------------------------------------------------------------ instructions

    instruction: $ => seq(
      optional($.root),
      field('name', $.name), '=', field('shape', $._shape),
      choice(
        seq(field('opcode', $.opcode), field('operands', $.operands)),
        // Their operand is a number or a literal of any nesting.
        seq(field('opcode', alias(choice('constant', 'parameter'), $.opcode)), field('operands', alias($._literal, $.literal))),
      ),
      repeat(seq(',', $._attribute)),
    ),
    root: _ => 'ROOT',
    operands: $ => seq('(', commas($.operand), ')'),
    // XLA printed the shapes of operands until jaxlib 0.5.1.
    operand: $ => seq(field('shape', optional($._shape)), field('name', $.name)),
    _literal: $ => seq('(', repeat(choice($._item, ',', '=')), ')'),

    // ------------------------------------------------------------ shapes

    _shape: $ => choice($.array_shape, $.tuple_shape, $.buffer_shape),
    array_shape: $ => seq(
      field('type', $.primitive_type), field('dimensions', $.dimensions), field('layout', optional($.layout)),
    ),
    dimensions: $ => seq('[', commas($.dimension), ']'),
    // `<=8` is bounded dynamic, `?` unbounded.
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

    // Anything in brackets: JSON, literals, shardings, windows, lists of computations.
    block: $ => choice(
      seq('{', repeat(choice($._item, ',', '=')), '}'),
      seq('(', repeat(choice($._item, ',', '=')), ')'),
      seq('[', repeat(choice($._item, ',', '=')), ']'),
    ),
    _item: $ => choice($.string, $.block, alias($._reference, $.name), $.word, '<=', '"'),

    // ------------------------------------------------------------ words

    // Stands before `name` to take precedence: an operand may start with either.
    primitive_type: _ => new RegExp(TYPE),
    name: _ => /%[^\s{}()\[\]",=%]+|[A-Za-z_][A-Za-z0-9_.#-]*/,
    _operand_name: _ => /%[^\s{}()\[\]",=%#]+|[A-Za-z_][A-Za-z0-9_.-]*/,
    _reference: _ => /%[^\s{}()\[\]",=%]+/,
    _module_name: _ => /[^\s,]+/,
    opcode: _ => /[a-z][a-z0-9-]*/,
    key: _ => /[A-Za-z_][A-Za-z0-9_.-]*/,
    integer: _ => /-?[0-9]+/,
    word: _ => /[^\s{}()\[\]",=%]+/,
    // Few strings span lines. An unclosed one stops at what may be the next instruction or the end of a computation.
    string: _ => /"([^"\\\n]|\\(.|\n)|\n([^\s}%"\\]|\s*\\.|[ \t]+[}\]]))*"/,
    _open_string: _ => /"([^"\\\n]|\\.)*/,
    _plain_value: _ => token(new RegExp(`(${PLAIN}|<=|${PLAIN_LIST})+`)),
    _plain_text: _ => token(prec(-1, /[^{}"%\s]([^{}"%\n]*[^{}"%\s])?/)),
    _next_text: _ => token(prec(-1, /[^{}"%\sA-Za-z_]([^{}"%\n]*[^{}"%\s])?/)),
    comment: _ => choice(/\/\*[^*]*\*\//, /\/\/[^\n]*/),
  },
});
