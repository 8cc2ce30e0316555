/** A run of text that is split only if necessary: a paragraph, a list, a table, or a fenced code block. */
export interface Block {
  readonly text: string
  readonly kind: 'prose' | 'code' | 'table'
}

/** The content under one heading; `path` is that heading and the ones above it. */
export interface Section {
  readonly path: readonly string[]
  readonly blocks: readonly Block[]
}

export interface ParsedMarkdown {
  readonly sections: readonly Section[]
  /** `title` and `description` of the front matter, when it has them. */
  readonly front: ReadonlyMap<string, string>
  /** The first image that is not a badge, when its URL is absolute. */
  readonly picture: string | null
}

const BADGE = /shields\.io|badge|\/workflows\/|codecov|travis|circleci|opencollective|\.svg(?:$|\?)/i
/** A row, and a row of dashes under it. */
const TABLE = /^[^\n]*\|[^\n]*\n\s*\|?\s*:?-+:?\s*(?:\||$)/m
const TAG = /<\/?[A-Za-z][^<>]{0,600}>/g
const ENTITIES: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&amp;': '&',
  '&quot;': '"',
  '&#39;': "'",
  '&nbsp;': ' ',
}

/** Splits Markdown (and MDX) at its headings. Markup that means nothing to a reader is dropped; code is kept unchanged. */
export function parseMarkdown(source: string): ParsedMarkdown {
  const text = source.toWellFormed().replaceAll('\r\n', '\n').replaceAll('\0', '')
  const { front, body } = takeFrontMatter(text)
  const splitter = new SectionSplitter()
  for (const segment of segmentsOf(body)) {
    if (segment.kind === 'code') splitter.code(segment.text)
    else splitter.prose(cleanProse(segment.text))
  }
  return { sections: splitter.finish(), front, picture: firstPicture(body) }
}

class SectionSplitter {
  private readonly sections: Section[] = []
  private headings: { level: number; text: string }[] = []
  private blocks: Block[] = []
  private lines: string[] = []

  prose(text: string): void {
    const lines = text.split('\n')
    for (const [at, line] of lines.entries()) {
      const heading = /^ {0,3}(#{1,6})\s+(.+?)\s*#*$/.exec(line)
      if (heading?.[1] && heading[2]) {
        this.open(heading[1].length, heading[2])
      } else if (/^(?:={3,}|-{3,})\s*$/.test(line)) {
        this.underline(line, lines[at - 1] ?? '')
      } else if (line.trim() === '') {
        this.endParagraph()
      } else {
        this.lines.push(line.trimEnd())
      }
    }
    this.endParagraph()
  }

  code(text: string): void {
    this.endParagraph()
    this.blocks.push({ text, kind: 'code' })
  }

  finish(): Section[] {
    this.endSection()
    return this.sections
  }

  /** A line of `===` or `---` makes a heading of the one line above it; otherwise it is a rule and says nothing. */
  private underline(line: string, above: string): void {
    const title = this.lines.length === 1 && above.trim() !== '' ? this.lines[0] : undefined
    if (title === undefined || /^\s*[-*|>]/.test(title)) {
      this.endParagraph()
      return
    }
    this.lines = []
    this.open(line.startsWith('=') ? 1 : 2, title)
  }

  private open(level: number, title: string): void {
    this.endSection()
    const text = title.replaceAll(/[`*]/g, '').trim().slice(0, 120).toWellFormed()
    this.headings = [...this.headings.filter((heading) => heading.level < level), { level, text }]
  }

  private endParagraph(): void {
    const text = this.lines.join('\n')
    this.lines = []
    if (/[\p{L}\p{N}]/u.test(text)) this.blocks.push({ text, kind: TABLE.test(text) ? 'table' : 'prose' })
  }

  private endSection(): void {
    this.endParagraph()
    if (this.blocks.length > 0) {
      this.sections.push({ path: this.headings.map((heading) => heading.text), blocks: this.blocks })
    }
    this.blocks = []
  }
}

function takeFrontMatter(text: string): { front: ReadonlyMap<string, string>; body: string } {
  const found = /^---\n([\s\S]{0,4000}?)\n---\n/.exec(text)
  const front = new Map<string, string>()
  if (!found) return { front, body: text }
  for (const line of (found[1] ?? '').split('\n')) {
    const [, key, value] = /^(title|description):\s*(.+)$/.exec(line) ?? []
    if (key && value) front.set(key, value.trim().replace(/^(["'])(.*)\1$/, '$2'))
  }
  return { front, body: text.slice(found[0].length) }
}

/** Prose and fenced code in turn. A fence that is never closed runs to the end, as in CommonMark. */
function segmentsOf(body: string): Block[] {
  const segments: Block[] = []
  let lines: string[] = []
  let fence: { mark: string; indent: number } | null = null
  const flush = (code: boolean): void => {
    if (lines.length > 0) segments.push({ text: lines.join('\n'), kind: code ? 'code' : 'prose' })
    lines = []
  }
  for (const line of body.split('\n')) {
    const [, indent = '', mark] = /^(\s*)(`{3,}|~{3,})/.exec(line) ?? []
    if (fence) {
      lines.push(line.slice(Math.min(fence.indent, line.length - line.trimStart().length)))
      if (mark?.startsWith(fence.mark) && line.trim() === mark) {
        flush(true)
        fence = null
      }
    } else if (mark) {
      flush(false)
      fence = { mark, indent: indent.length }
      lines.push(plainFence(line.trim(), mark))
    } else {
      lines.push(line)
    }
  }
  flush(fence !== null)
  return segments
}

/** The text of a Markdown without its fenced code. */
export function proseOf(body: string): string {
  return segmentsOf(body)
    .filter(({ kind }) => kind === 'prose')
    .map(({ text }) => text)
    .join('\n')
}

/** The fence's opening line with the language alone: titles and icons of a documentation site are noise. */
function plainFence(line: string, mark: string): string {
  return mark + (/^[\w+#-]+/.exec(line.slice(mark.length))?.[0] ?? '')
}

function cleanProse(prose: string): string {
  return withoutSpans(withoutSpans(prose, '<!--', '-->'), '{/*', '*/}')
    .replaceAll(/^(?:import|export) .*$/gm, '')
    .replaceAll(/<h([1-6])\b[^<>]{0,300}>([\s\S]{0,300}?)<\/h\1>/gi, (_, level, title: string) => {
      return `\n${'#'.repeat(Number(level))} ${title.replaceAll(/\s+/g, ' ').trim()}\n`
    })
    .split(/(`[^`\n]*`)/)
    .map((part, at) => (at % 2 === 1 ? part : cleanInline(part)))
    .join('')
    .replaceAll(/^[ \t]*\[[^\]\n]{1,200}\]:[ \t]*\S+.*$/gm, '')
    .replaceAll(/\[((?:[^[\]\n]|\[[^[\]\n]*\])*)\]\((?:[^()\n]|\([^()\n]*\))*\)/g, '$1')
    .replaceAll(/\[([^[\]\n]+)\]\[[^[\]\n]*\]/g, '$1')
}

/** Removes everything between two markers. Linear, even when a marker is opened a million times and never closed. */
function withoutSpans(text: string, open: string, close: string): string {
  let kept = ''
  let at = 0
  for (;;) {
    const begin = text.indexOf(open, at)
    const end = begin < 0 ? -1 : text.indexOf(close, begin + open.length)
    if (end < 0) return kept + text.slice(at)
    kept += text.slice(at, begin)
    at = end + close.length
  }
}

function cleanInline(text: string): string {
  return text
    .replaceAll(/!\[[^\]\n]{0,400}\](?:\([^()\n]{0,2000}\)|\[[^\]\n]{0,400}\])/g, '')
    .replaceAll(TAG, ' ')
    .replaceAll('**', '')
    .replaceAll(/&(?:lt|gt|amp|quot|nbsp|#39);/g, (entity) => ENTITIES[entity] ?? entity)
    .replaceAll(/(\S) {2,}/g, '$1 ')
}

function firstPicture(body: string): string | null {
  const pictures = body.matchAll(
    /!\[[^\]\n]{0,400}\]\((https:\/\/[^\s()]+)|<img\b[^<>]{0,300}?\bsrc="(https:\/\/[^"\s]+)"/g,
  )
  for (const [, markdown, html] of pictures) {
    const address = markdown ?? html
    if (address && !BADGE.test(address) && URL.canParse(address)) return new URL(address).href
  }
  return null
}
