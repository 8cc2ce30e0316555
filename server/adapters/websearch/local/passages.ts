import type { Passage } from './index-document'
import type { Block, Section } from './markdown-sections'
import { cutToTokens, estimateTokens } from './token-estimate'

/** Passages aim at this size: enough to stand alone, small enough to choose between. */
const GOAL_TOKENS = 220
const MOST_PROSE_TOKENS = 300
/** Code is kept whole up to here. With the longest heading it still fits the smallest budget of one page, 512 tokens. */
const MOST_CODE_TOKENS = 420
const MOST_HEADING_TOKENS = 40
/** Room for the two fences that each piece of a long block of code is given. */
const FENCE_TOKENS = 12
/** A section smaller than this is joined with its neighbours: alone it says too little. */
const SMALL_TOKENS = 90

/** Cuts sections into passages of one heading each, or of several small neighbours under one parent. */
export function passagesOf(sections: readonly Section[]): Passage[] {
  return joinSmall(sections).flatMap(({ path, also, blocks }) => {
    const heading = cutToTokens(headingOf(path, also), MOST_HEADING_TOKENS)
    return cutBlocks(blocks).map((text) => ({ heading, text }))
  })
}

/** A passage as it is handed out: its place in the page, then its words. */
export function snippetOf(passage: Passage): string {
  return passage.heading === '' ? passage.text : `${passage.heading}\n${passage.text}`
}

interface Joined {
  readonly path: readonly string[]
  readonly also: string[]
  readonly blocks: Block[]
  tokens: number
}

function joinSmall(sections: readonly Section[]): Joined[] {
  const joined: Joined[] = []
  for (const section of sections) {
    const tokens = section.blocks.reduce((sum, block) => sum + estimateTokens(block.text), 0)
    const last = joined.at(-1)
    const own = section.path.at(-1)
    if (
      last &&
      own &&
      tokens < SMALL_TOKENS &&
      last.tokens + tokens <= GOAL_TOKENS &&
      isNear(last.path, section.path)
    ) {
      last.blocks.push({ text: own, code: false }, ...section.blocks)
      last.also.push(own)
      last.tokens += tokens + estimateTokens(own)
    } else {
      joined.push({ path: section.path, also: [], blocks: [...section.blocks], tokens })
    }
  }
  return joined
}

/** Whether the second stands beside the first or right below it. */
function isNear(first: readonly string[], second: readonly string[]): boolean {
  const shared = second.slice(0, -1)
  const siblings = first.length === second.length && shared.every((text, at) => text === first[at])
  const child = first.length === shared.length && shared.every((text, at) => text === first[at])
  return siblings || child
}

function headingOf(path: readonly string[], also: readonly string[]): string {
  return [path.join(' > '), ...also].filter((text) => text !== '').join(', ')
}

function cutBlocks(blocks: readonly Block[]): string[] {
  const passages: string[] = []
  let current = ''
  const flush = (): void => {
    if (current !== '') passages.push(current)
    current = ''
  }
  for (const block of blocks.flatMap(cutBlock)) {
    const grown = current === '' ? block.text : `${current}\n\n${block.text}`
    const most = block.code ? MOST_CODE_TOKENS : MOST_PROSE_TOKENS
    if (current !== '' && (estimateTokens(current) >= GOAL_TOKENS || estimateTokens(grown) > most)) {
      flush()
      current = block.text
    } else {
      current = grown
    }
  }
  flush()
  return passages
}

/** A block in pieces that each fit a passage: by lines, then by sentences, at last by length. */
function cutBlock(block: Block): Block[] {
  const most = block.code ? MOST_CODE_TOKENS : MOST_PROSE_TOKENS
  if (estimateTokens(block.text) <= most) return [block]
  const [, fence, body] = /^(`{3,}[\w+#-]*)\n([\s\S]*?)\n?`{3,}\s*$/.exec(block.code ? block.text : '') ?? []
  if (fence === undefined || body === undefined) return pieces(block, most)
  const close = /^`+/.exec(fence)?.[0] ?? ''
  return pieces({ text: body, code: true }, most - FENCE_TOKENS).map((piece) => {
    return { text: `${fence}\n${piece.text}\n${close}`, code: true }
  })
}

function pieces(block: Block, most: number): Block[] {
  const found: Block[] = []
  let current = ''
  const parts = block.text.includes('\n') ? block.text.split(/(?<=\n)/) : block.text.split(/(?<=[.!?;,] )/)
  for (const part of parts.flatMap((text) => cutLong(text, most))) {
    if (current !== '' && estimateTokens(current + part) > most) {
      found.push({ text: current.trimEnd(), code: block.code })
      current = ''
    }
    current += part
  }
  if (current.trim() !== '') found.push({ text: current.trimEnd(), code: block.code })
  return found
}

function cutLong(text: string, most: number): string[] {
  const pieces: string[] = []
  let rest = text
  while (estimateTokens(rest) > most) {
    const piece = cutToTokens(rest, most)
    if (piece === '') break
    pieces.push(piece)
    rest = rest.slice(piece.length)
  }
  return [...pieces, rest]
}
