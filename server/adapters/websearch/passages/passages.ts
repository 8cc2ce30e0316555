import type { Block, Section } from './markdown-sections'
import { countTokens, cutToTokens } from './token-count'

/** A piece of a document, small enough to be returned whole. `heading` is the path of headings above it. */
export interface Passage {
  readonly heading: string
  readonly text: string
  /** Tokens of its snippet, including the heading; never less than the tokenizer counts for the whole. */
  readonly tokens: number
}

/** The target size: enough to be understood alone, small enough to choose between. */
const GOAL_TOKENS = 220
const MAX_PROSE_TOKENS = 300
/** Code and tables are kept whole up to here. With the longest heading they still fit the smallest budget of one page, 512 tokens. */
const MAX_WHOLE_TOKENS = 420
const MAX_HEADING_TOKENS = 40
/** Room for the two fences that each piece of a long block of code is given. */
const FENCE_TOKENS = 12
/** A section smaller than this is merged with its neighbors: alone it says too little. */
const SMALL_TOKENS = 90
/** Maximum tokens of the separator between two blocks. */
const BREAK_TOKENS = 1

/** Cuts sections into passages of one heading each, or of several small neighbours under one parent. */
export function passagesOf(sections: readonly Section[]): Passage[] {
  return joinSmall(sections).flatMap(({ path, also, blocks }) => {
    const heading = cutToTokens(headingOf(path, also), MAX_HEADING_TOKENS)
    const headingTokens = heading === '' ? 0 : countTokens(heading) + BREAK_TOKENS
    return cutBlocks(blocks).map(({ text, tokens }) => ({ heading, text, tokens: headingTokens + tokens }))
  })
}

/** A passage as it is returned: its heading path, then its text. */
export function snippetOf(passage: Pick<Passage, 'heading' | 'text'>): string {
  return passage.heading === '' ? passage.text : `${passage.heading}\n${passage.text}`
}

/** A block with its token count, counted once. */
interface CountedBlock extends Block {
  readonly tokens: number
}

interface Joined {
  readonly path: readonly string[]
  readonly also: string[]
  readonly blocks: CountedBlock[]
  tokens: number
}

function counted(block: Block): CountedBlock {
  return { ...block, tokens: countTokens(block.text) + BREAK_TOKENS }
}

function joinSmall(sections: readonly Section[]): Joined[] {
  const joined: Joined[] = []
  for (const section of sections) {
    const blocks = section.blocks.map(counted)
    const tokens = blocks.reduce((sum, block) => sum + block.tokens, 0)
    const last = joined.at(-1)
    const own = section.path.at(-1)
    if (
      last &&
      own &&
      tokens < SMALL_TOKENS &&
      last.tokens + tokens <= GOAL_TOKENS &&
      isNear(last.path, section.path)
    ) {
      const named = counted({ text: own, kind: 'prose' })
      last.blocks.push(named, ...blocks)
      last.also.push(own)
      last.tokens += tokens + named.tokens
    } else {
      joined.push({ path: section.path, also: [], blocks, tokens })
    }
  }
  return joined
}

/** Whether the second heading is a sibling or direct child of the first. */
function isNear(first: readonly string[], second: readonly string[]): boolean {
  const shared = second.slice(0, -1)
  const siblings = first.length === second.length && shared.every((text, at) => text === first[at])
  const child = first.length === shared.length && shared.every((text, at) => text === first[at])
  return siblings || child
}

function headingOf(path: readonly string[], also: readonly string[]): string {
  return [path.join(' > '), ...also].filter((text) => text !== '').join(', ')
}

function cutBlocks(blocks: readonly CountedBlock[]): { text: string; tokens: number }[] {
  const passages: { text: string; tokens: number }[] = []
  let texts: string[] = []
  let tokens = 0
  const flush = (): void => {
    if (texts.length > 0) passages.push({ text: texts.join('\n\n'), tokens })
    texts = []
    tokens = 0
  }
  for (const block of blocks.flatMap(cutBlock)) {
    if (texts.length > 0 && (tokens >= GOAL_TOKENS || tokens + block.tokens > maxTokens(block))) flush()
    texts.push(block.text)
    tokens += block.tokens
  }
  flush()
  return passages
}

function maxTokens(block: Block): number {
  return block.kind === 'prose' ? MAX_PROSE_TOKENS : MAX_WHOLE_TOKENS
}

/** Splits a block into pieces that fit a passage: by lines, then by sentences, finally by length. */
function cutBlock(block: CountedBlock): CountedBlock[] {
  const max = maxTokens(block)
  if (block.tokens <= max) return [block]
  const framed = block.kind === 'code' ? fenced(block.text) : block.kind === 'table' ? headed(block.text) : null
  const room = framed ? max - framed.tokens : max
  if (!framed || room < max / 2) return pieces(block.text, max).map((text) => counted({ text, kind: block.kind }))
  return pieces(framed.body, room).map((text) => counted({ text: framed.wrap(text), kind: block.kind }))
}

/** The text around each piece of a long block, so that a piece keeps the form of the whole (a code block, a table). */
interface Frame {
  readonly body: string
  /** Tokens of the frame. */
  readonly tokens: number
  wrap(piece: string): string
}

/** Code gets its fences and its language on every piece. */
function fenced(text: string): Frame | null {
  const [, fence, body] = /^(`{3,}[\w+#-]*)\n([\s\S]*?)\n?`{3,}\s*$/.exec(text) ?? []
  if (fence === undefined || body === undefined) return null
  const close = /^`+/.exec(fence)?.[0] ?? ''
  return { body, tokens: FENCE_TOKENS, wrap: (piece) => `${fence}\n${piece}\n${close}` }
}

/** A table gets its head on every piece. */
function headed(text: string): Frame | null {
  const [, head, body] = /^([^\n]*\n[^\n]*\n)([\s\S]+)$/.exec(text) ?? []
  if (head === undefined || body === undefined) return null
  return { body, tokens: countTokens(head), wrap: (piece) => head + piece }
}

function pieces(text: string, max: number): string[] {
  const found: string[] = []
  let current = ''
  let tokens = 0
  const parts = text.includes('\n') ? text.split(/(?<=\n)/) : text.split(/(?<=[.!?;,] )/)
  for (const part of parts.flatMap((line) => cutLong(line, max))) {
    const cost = countTokens(part)
    if (current !== '' && tokens + cost > max) {
      found.push(current.trimEnd())
      current = ''
      tokens = 0
    }
    current += part
    tokens += cost
  }
  if (current.trim() !== '') found.push(current.trimEnd())
  return found
}

function cutLong(text: string, max: number): string[] {
  const pieces: string[] = []
  let rest = text
  while (Buffer.byteLength(rest) > max && (rest.length > max * 16 || countTokens(rest) > max)) {
    const piece = cutToTokens(rest, max)
    if (piece === '') break
    pieces.push(piece)
    rest = rest.slice(piece.length)
  }
  return [...pieces, rest]
}
