import type { Random } from './random'

/** Text that has broken a service before. Lone surrogates are allowed: the writer decides about their form. */
export const HOSTILE_TEXT: readonly string[] = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\r\nX-Injected: 1\r\n\r\n',
  '\n\n',
  '\t',
  '\u0085\u2028\u2029',
  '\ud800',
  'a\udc00b',
  '\udbff\udbff',
  '\ufeff',
  '\uffff\ufffe',
  '\u202e\u2066drow\u2069',
  'e\u0301'.repeat(300),
  '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}'.repeat(60),
  '\u{10ffff}'.repeat(401),
  '\ufdfa'.repeat(400),
  'a'.repeat(401),
  'a'.repeat(601),
  'a '.repeat(50),
  'a '.repeat(76),
  '"',
  "'; DROP TABLE requests; --",
  '" OR 1=1 --',
  '*',
  'a* NEAR(b c, 0)',
  '"unclosed',
  '(((((((((((((((((((((((((((((',
  '{a b}: ^x - y + z',
  'title:secret AND NOT x',
  '%',
  '%00',
  '%zz',
  '%25%32%35',
  '<script>alert(1)</script>',
  `\${7*7}{{7*7}}`,
  '../../../../etc/passwd',
  '..\\..\\',
  '/',
  '__proto__',
  'constructor',
  'toString',
  'NaN',
  'Infinity',
  '-0',
  '1e308',
  '1e999',
  '0x10',
  '1_000',
  ' 5 ',
  '+5',
  '05',
  '5.0',
  '٥',
  '9007199254740993',
  '99999999999999999999999999',
  '-1',
  'true ',
  'TRUE',
  'null',
  'undefined',
  '[]',
  '{}',
  '=cmd|calc',
]

/** Bytes that are no UTF-8. */
export const BROKEN_UTF8: readonly string[] = [
  '\xff',
  '\xfe\xff',
  '\xc3',
  '\xc0\xaf',
  '\xe2\x82',
  '\xed\xa0\x80',
  '\xf0\x9f\x98',
  '\xf4\x90\x80\x80',
  '\x80',
  'a\xf8\x88\x80\x80\x80b',
]

/** A text as its UTF-8 bytes, one character a byte. A lone surrogate becomes the three bytes that it must not be. */
export function utf8(text: string): string {
  return text.isWellFormed()
    ? Buffer.from(text, 'utf8').toString('latin1')
    : [...text].map((c) => (c.isWellFormed() ? utf8(c) : surrogate(c.charCodeAt(0)))).join('')
}

function surrogate(unit: number): string {
  return String.fromCharCode(0xe0 | (unit >> 12), 0x80 | ((unit >> 6) & 0x3f), 0x80 | (unit & 0x3f))
}

/** The bytes that end a target, or that mean something in a query. */
const ENDING = ' #&+%'

/** Percent-encodes every byte that `isPlain` does not let through. */
export function percent(bytes: string, isPlain = (byte: string) => /[\w.~-]/.test(byte)): string {
  return Array.from(bytes, (byte) =>
    isPlain(byte) ? byte : `%${byte.charCodeAt(0).toString(16).padStart(2, '0')}`,
  ).join('')
}

/** Lets through all that a target can hold, whatever URLs say of it. */
function isBearable(byte: string): boolean {
  return !isControl(byte) && !ENDING.includes(byte)
}

function isControl(byte: string): boolean {
  return byte < ' ' || byte === '\x7f'
}

/** A text in a query, most often as it should be, else in a way that some decoder trips over. Never a byte that ends the target. */
export function inQuery(random: Random, text: string): string {
  const bytes = utf8(text)
  if (random.chance(0.7)) return percent(bytes)
  switch (random.int(0, 5)) {
    case 0:
      return percent(percent(bytes))
    case 1:
      return percent(bytes).replaceAll('%20', '+')
    case 2:
      return percent(bytes, isBearable)
    case 3:
      return `${percent(bytes)}${random.pick(['%', '%z', '%zz', '%f', '%u0041', '%%', '%c3', '%f0%9f'])}`
    case 4:
      return percent(`${bytes}${random.pick(BROKEN_UTF8)}`)
    default:
      return percent(`${bytes}${random.pick(BROKEN_UTF8)}`, isBearable)
  }
}

/** A text in a header, without what would end it or make it no header: NUL, CR, LF and their kin. */
export function inHeader(text: string): string {
  return Array.from(utf8(text), (byte) => (byte !== '\t' && isControl(byte) ? '' : byte)).join('')
}
