import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { compilePart, renderByEngine, renderPart } from '../../shared/content/liquid.ts';

const SOURCES = ['{{ a }}', 'x {{a}} y\r\n{{ b }}{{ a }}', '<p title="{{ a }}">{{ b }}</p>\n', 'no variable', '', '{ {{ a }} }', '{{ a }}\n\n'];
const NEED_THE_ENGINE = ['{{- a }} b', '{{ a | upcase }}', '{% if a == "x" %}{{ b }}{% endif %}', '{{ true }}', '{{ a }}{{ "b" }}', '{{  a }}'];

describe('a template of texts and variables alone', () => {
  it.each(['html', 'text'] as const)('gives the same %s as the engine, for any value', (part) => {
    fc.assert(fc.property(fc.constantFrom(...SOURCES, ...NEED_THE_ENGINE), fc.string({ unit: 'grapheme' }), fc.string({ unit: 'binary' }), (source, a, b) => {
      const compiled = compilePart(part, source);
      expect(renderPart(compiled, { a, b })).toBe(renderByEngine(compiled, { a, b }));
    }), { numRuns: 1_000 });
  });

  it('is rendered without the engine, and one with a tag, a filter or a literal is not', () => {
    expect(SOURCES.map((source) => compilePart('text', source).simple !== null)).toEqual(SOURCES.map(() => true));
    expect(NEED_THE_ENGINE.map((source) => compilePart('text', source).simple)).toEqual(NEED_THE_ENGINE.map(() => null));
  });

  it('refuses a variable that is not there, as the engine does', () => {
    const compiled = compilePart('text', '{{ a }}{{ missing }}');
    expect(() => renderPart(compiled, { a: 'x' })).toThrow('undefined variable: missing');
  });
});

describe('a tag that is not closed', () => {
  it.each([
    'x\n{{ a , until {{ b }}.', 'x\n{{ a }, until {{ b }}.', 'x\n{{ a , until then }}', 'x\n{{ a b }}', 'x\n{{ a', 'x\n{{ a "b', 'x\n{{ a, don\'t {{ b }} or isn\'t }}', 'x\n{{ a, "{{ b }}" }}',
    'x\n{{ a. {% if b %}c{% endif %}', 'x\n{% if a }x{% endif %}', 'x\n{% if a {{ b }} %}x{% endif %}', 'x\n{% if a == "b',
  ])('is refused, not closed by what comes after it: %j', (source) => {
    expect(() => compilePart('sms', source)).toThrow(expect.objectContaining({ name: 'LiquidError', line: 2, message: expect.stringMatching(/^(tag|output) .* not closed$/) }));
  });

  it.each(['{{ a | append: "{{" | append: \'}}\' }}', '{{- a -}}', '{{-a-}}', '{{ "a" }}', "{{ a | default: 'it, or {% that' }}", '{% raw %}{{ a {{ b {% endraw %}', '{% if a == "{{" %}b{% endif %}', '<style>@media{p{q:r}}</style>'])('is not seen where there is none: %j', (source) => {
    expect(() => compilePart('html', source)).not.toThrow();
  });
});
