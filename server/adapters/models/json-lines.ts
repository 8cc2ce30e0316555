const SPACE = /[ \t\r\n]*/y
const PLAIN = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON has none in texts
const TEXT = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y
const MAX_DEPTH = 64

/** Where things are in a JSON text that a person wrote. Lines count from 1. */
export interface JsonLines {
  /** The line of the first mistake; null if there is none. */
  readonly mistake: number | null
  /** The lines on which the elements of the array `name` of the outermost object begin. */
  readonly elements: readonly number[]
}

/** Finds lines for messages; `JSON.parse`, which names none, decides what is valid. */
export function jsonLines(text: string, name: string): JsonLines {
  const scanner = new Scanner(text, name)
  const isWhole = scanner.value(0, false) && scanner.isAtEnd()
  const [mistake = null] = isWhole ? [] : linesAt(text, [scanner.offset])
  return { mistake, elements: linesAt(text, scanner.elements) }
}

/** The lines of ascending offsets. */
function linesAt(text: string, offsets: readonly number[]): readonly number[] {
  let line = 1
  let next = text.indexOf('\n')
  return offsets.map((offset) => {
    for (; next !== -1 && next < offset; next = text.indexOf('\n', next + 1)) line++
    return line
  })
}

class Scanner {
  readonly elements: number[] = []
  offset = 0
  private readonly text: string
  private readonly name: string

  constructor(text: string, name: string) {
    this.text = text
    this.name = JSON.stringify(name)
  }

  isAtEnd(): boolean {
    this.take(SPACE)
    return this.offset === this.text.length
  }

  /** Passes a value. False at a mistake, where `offset` stays. */
  value(depth: number, isNamed: boolean): boolean {
    this.take(SPACE)
    if (depth > MAX_DEPTH) return false
    if (this.is('{')) return this.sequence('}', () => this.member(depth))
    if (!this.is('[')) return this.take(TEXT) !== null || this.take(PLAIN) !== null
    return this.sequence(']', () => {
      this.take(SPACE)
      if (isNamed) this.elements.push(this.offset)
      return this.value(depth + 1, false)
    })
  }

  private member(depth: number): boolean {
    this.take(SPACE)
    const key = this.take(TEXT)
    if (key === null) return false
    this.take(SPACE)
    return this.is(':') && this.value(depth + 1, depth === 0 && key === this.name)
  }

  private sequence(end: string, item: () => boolean): boolean {
    this.take(SPACE)
    if (this.is(end)) return true
    for (;;) {
      if (!item()) return false
      this.take(SPACE)
      if (this.is(end)) return true
      if (!this.is(',')) return false
    }
  }

  private is(character: string): boolean {
    if (this.text[this.offset] !== character) return false
    this.offset++
    return true
  }

  private take(pattern: RegExp): string | null {
    pattern.lastIndex = this.offset
    const [found = null] = pattern.exec(this.text) ?? []
    this.offset += found?.length ?? 0
    return found
  }
}
