import type { ChunkGuard } from '../stream'

/** Secrets shorter than this would be found in any answer. */
const MIN_SECRET_LENGTH = 4
/** Secrets of fewer bytes are not looked for in base64 and hexadecimal: random data would contain them. */
const MIN_ENCODED_BYTES = 6

/** One way to write a character. `fold`: hexadecimal digits of either case. */
interface Spelling {
  readonly bytes: Uint8Array
  readonly fold: boolean
}

/** A secret in one encoding, as the spellings of its characters. */
type Needle = readonly (readonly Spelling[])[]
type Found = 'yes' | 'no' | 'maybe'

/** The texts to look for, by their first two bytes. */
interface Patterns {
  /** 1 for the bytes that it may begin with. Every byte of every answer is looked up here. */
  readonly starts: Uint8Array
  /** 1 where `byPair` may have an entry: by a hash of both bytes. */
  readonly flags: Uint8Array
  readonly byPair: ReadonlyMap<number, readonly Needle[]>
}

/**
 * Finds secrets in bytes that come in parts, also across the border of two parts: as they are, escaped as in JSON or in URLs, in
 * hexadecimal, and in base64 at any place of what was encoded. Holds back only bytes that may be the beginning of a secret.
 */
export class SecretGuard implements ChunkGuard {
  /** A secret follows what passed, so that nothing more may. */
  isOver = false
  private readonly patterns: Patterns | null
  private readonly onLeak: () => void
  private pending: Uint8Array = new Uint8Array()

  constructor(secrets: readonly string[], onLeak: () => void = () => undefined) {
    this.patterns = patternsOf(secrets)
    this.onLeak = onLeak
  }

  /** What may pass of these bytes and of those that were held back. */
  pass(chunk: Uint8Array): Uint8Array {
    return this.scan(this.pending.length === 0 ? chunk : Buffer.concat([this.pending, chunk]), false)
  }

  /** The same for what is still held back, once no more bytes come. */
  end(): Uint8Array {
    return this.scan(this.pending, true)
  }

  private scan(bytes: Uint8Array, isEnd: boolean): Uint8Array {
    this.pending = NOTHING
    if (this.patterns === null) return bytes
    const { at, found } = firstSecret(bytes, this.patterns, isEnd)
    if (found === 'maybe') this.pending = bytes.slice(at)
    if (found === 'yes') {
      this.isOver = true
      this.onLeak()
    }
    return found === 'no' ? bytes : bytes.subarray(0, at)
  }
}

/** Where the first secret begins, or `maybe` begins. */
function firstSecret(bytes: Uint8Array, { starts, flags, byPair }: Patterns, isEnd: boolean) {
  const last = bytes.length - 1
  for (let at = 0; at <= last; at++) {
    const first = bytes[at] ?? 0
    if (starts[first] === 0) continue
    // One byte is no secret, and may begin one.
    if (at === last) return { at: isEnd ? last + 1 : last, found: isEnd ? 'no' : 'maybe' } as const
    const second = bytes[at + 1] ?? 0
    if (flags[hashOf(first, second)] === 0) continue
    const needles = byPair.get((first << 8) | second)
    const found = needles === undefined ? 'no' : startsAt(bytes, at, needles, isEnd)
    if (found !== 'no') return { at, found }
  }
  return { at: last + 1, found: 'no' as const }
}

const NOTHING = new Uint8Array()

export function containsSecret(bytes: Uint8Array, secrets: readonly string[]): boolean {
  const patterns = patternsOf(secrets)
  return patterns !== null && firstSecret(bytes, patterns, true).found === 'yes'
}

/** Whether a text has to be searched for one of the secrets: cheaper than to encode it, and false for most. */
export function mayContainSecret(text: string, secrets: readonly string[]): boolean {
  const patterns = patternsOf(secrets)
  if (patterns === null) return false
  const { starts, flags } = patterns
  for (let at = 0; at < text.length; at++) {
    const first = text.charCodeAt(at)
    if (first > MAX_ASCII) return true
    if (starts[first] === 0) continue
    const second = text.charCodeAt(at + 1)
    if (second > MAX_ASCII || flags[hashOf(first, second)] === 1) return true
  }
  return false
}

/** Above it, a character takes several bytes. */
const MAX_ASCII = 0x7f

/** By the list, which is one for all calls with the same credentials: compiling secrets takes longer than reading a usual answer. */
const COMPILED = new WeakMap<readonly string[], Patterns | null>()

/** The patterns of these secrets; null if there are none. */
function patternsOf(secrets: readonly string[]): Patterns | null {
  const known = COMPILED.get(secrets)
  if (known !== undefined) return known
  const long = secrets.filter((secret) => secret.length >= MIN_SECRET_LENGTH)
  const patterns = long.length === 0 ? null : compiled(long.flatMap(needlesOf))
  COMPILED.set(secrets, patterns)
  return patterns
}

function compiled(needles: readonly Needle[]): Patterns {
  const flags = new Uint8Array(4096)
  const starts = new Uint8Array(256)
  const byPair = new Map<number, Needle[]>()
  for (const needle of needles)
    for (const [first, second] of pairsOf(needle)) {
      const key = (first << 8) | second
      const others = byPair.get(key) ?? []
      if (!others.includes(needle)) byPair.set(key, [...others, needle])
      flags[hashOf(first, second)] = 1
      starts[first] = 1
    }
  return { starts, flags, byPair }
}

function hashOf(first: number, second: number): number {
  return ((first << 5) ^ second) & 4095
}

/** The two bytes that a needle may begin with. */
function pairsOf([first = [], second = []]: Needle): [number, number][] {
  return first.flatMap(({ bytes, fold }) => {
    const [one = 0, two] = bytes
    const seconds =
      two === undefined ? second.flatMap((next) => cases(next.bytes[0] ?? 0, next.fold)) : cases(two, fold)
    return cases(one, fold).flatMap((a) => seconds.map((b): [number, number] => [a, b]))
  })
}

function cases(byte: number, fold: boolean): number[] {
  return fold && byte >= 0x61 && byte <= 0x66 ? [byte, byte & ~0x20] : [byte]
}

function needlesOf(secret: string): Needle[] {
  const bytes = Buffer.from(secret)
  const plain = [...secret].map(plainOf)
  if (bytes.length < MIN_ENCODED_BYTES) return [plain]
  const hex = [...bytes.toString('hex')].map(hexOf)
  return [plain, hex, ...[0, 1, 2].map((before) => base64Of(bytes, before))]
}

/** A character as it is, escaped as in JSON (also in JSON that is text in JSON), as in a URL, and as in HTML. */
function spellingsOf(character: string): Spelling[] {
  const units = [...character.split('')].map((unit) => unit.charCodeAt(0).toString(16).padStart(4, '0'))
  const escaped = [...Buffer.from(character)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`)
  return [
    spelling(character),
    spelling(units.map((unit) => `\\u${unit}`).join(''), true),
    spelling(`\\${character}`),
    spelling(escaped.join(''), true),
    ...(character === ' ' ? [spelling('+')] : []),
    // Letters and digits are never escaped in these.
    ...(/[\dA-Za-z]/.test(character)
      ? []
      : [
          spelling(`\\\\${character}`),
          spelling(`\\\\\\${character}`),
          spelling(units.map((unit) => `\\\\u${unit}`).join(''), true),
          ...entitiesOf(character),
        ]),
  ]
}

const NAMED_ENTITIES: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": 'apos' }

/** A character as in HTML: `&#39;`, `&#039;`, `&#x27;` or `&apos;`. */
function entitiesOf(character: string): Spelling[] {
  const code = character.codePointAt(0) ?? 0
  const named = NAMED_ENTITIES[character]
  return [
    ...[spelling(`&#${code};`), spelling(`&#0${code};`), spelling(`&#x${code.toString(16)};`, true)],
    ...(named === undefined ? [] : [spelling(`&${named};`)]),
  ]
}

/** The base64 of a secret that follows `before` bytes, modulo 3: the characters that depend on the secret alone. */
function base64Of(secret: Buffer, before: number): Needle {
  const text = Buffer.concat([Buffer.alloc(before), secret]).toString('base64')
  const own = text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + secret.length) * 8) / 6))
  return [...own].map(base64CharacterOf)
}

/** The spellings of each character, shared by all secrets: a secret may be long, and many are compiled. */
function shared(make: (character: string) => readonly Spelling[]): (character: string) => readonly Spelling[] {
  const known = new Map<string, readonly Spelling[]>()
  return (character) => {
    const spellings = known.get(character) ?? make(character)
    if (character <= '~') known.set(character, spellings)
    return spellings
  }
}

const plainOf = shared(spellingsOf)
const hexOf = shared((digit) => [spelling(digit, true)])
const base64CharacterOf = shared((character) => {
  if (character === '+') return [...spellingsOf('+'), spelling('-')]
  return character === '/' ? [...spellingsOf('/'), spelling('_')] : [spelling(character)]
})

function spelling(text: string, fold = false): Spelling {
  return { bytes: Buffer.from(text), fold }
}

function startsAt(bytes: Uint8Array, at: number, needles: readonly Needle[], isEnd: boolean): Found {
  let best: Found = 'no'
  for (const needle of needles) {
    const found = spelled(bytes, at, needle, isEnd)
    if (found === 'yes') return 'yes'
    if (found === 'maybe') best = 'maybe'
  }
  return best
}

/** Whether the bytes from `at` spell a secret; `maybe` if they end before that is clear and more may come. */
function spelled(bytes: Uint8Array, at: number, needle: Needle, isEnd: boolean): Found {
  let ends: readonly number[] = [at]
  for (const spellings of needle) {
    const next: number[] = []
    for (const end of ends)
      for (const { bytes: wanted, fold } of spellings) {
        const found = begins(bytes, end, wanted, fold)
        if (found === 'maybe' && !isEnd) return 'maybe'
        if (found === 'yes') next.push(end + wanted.length)
      }
    if (next.length === 0) return 'no'
    ends = next
  }
  return 'yes'
}

function begins(bytes: Uint8Array, at: number, wanted: Uint8Array, fold: boolean): Found {
  for (let i = 0; i < wanted.length; i++) {
    const byte = bytes[at + i]
    if (byte === undefined) return 'maybe'
    const isLetter = fold && byte >= 0x41 && byte <= 0x46
    if ((isLetter ? byte | 0x20 : byte) !== wanted[i]) return 'no'
  }
  return 'yes'
}
