import type { SoldOperation } from '../core/apis/api-routes'

const MAX_WORDS = 10
/** Words are of letters and digits of any script. */
const NO_WORD = /[^\p{L}\p{N}\p{M}_]+/u
/** Shorter lists, such as that of a key, are read word by word: they may be another list at each message. */
const MIN_INDEXED = 500

/** Operations that contain all words, those with more of them in the name or title first. */
export function searched(sold: readonly SoldOperation[], query: string, max: number): SoldOperation[] {
  const words = [...new Set(query.toLowerCase().split(NO_WORD).filter(Boolean))].slice(0, MAX_WORDS)
  const candidates = sold.length < MIN_INDEXED ? sold : indexed(sold, words)
  const found: { readonly one: SoldOperation; readonly score: number }[] = []
  for (const one of candidates) {
    const { head, all } = searchText(one)
    if (words.every((word) => all.includes(word)))
      found.push({ one, score: words.filter((word) => head.includes(word)).length })
  }
  return found
    .sort((a, b) => b.score - a.score)
    .slice(0, max)
    .map(({ one }) => one)
}

/** The searchable words of each operation. Made at the first search of a catalog. */
const TEXTS = new WeakMap<SoldOperation, { readonly head: string; readonly all: string }>()

function searchText(one: SoldOperation) {
  const known = TEXTS.get(one)
  if (known) return known
  const { name, title, description } = one.operation
  const head = `${name} ${title} ${one.api.title}`.toLowerCase()
  const text = { head, all: `${head} ${description} ${one.api.description}`.toLowerCase() }
  TEXTS.set(one, text)
  return text
}

/** The positions of the operations that have a word, by word. A large catalog has far fewer words than texts. */
type WordIndex = ReadonlyMap<string, readonly number[]>

const INDEXES = new WeakMap<readonly SoldOperation[], WordIndex>()

/** The operations with the rarest of the words, as a part of one of theirs; each of the other words is still to be looked for. */
function indexed(sold: readonly SoldOperation[], words: readonly string[]): readonly SoldOperation[] {
  if (words.length === 0) return sold
  const index = INDEXES.get(sold) ?? indexOf(sold)
  INDEXES.set(sold, index)
  let rarest: readonly (readonly number[])[] = []
  let fewest = Number.POSITIVE_INFINITY
  for (const word of words) {
    const lists: (readonly number[])[] = []
    let count = 0
    for (const [known, positions] of index) {
      if (!known.includes(word)) continue
      lists.push(positions)
      count += positions.length
    }
    if (count >= fewest) continue
    rarest = lists
    fewest = count
  }
  const positions = [...new Set(rarest.flat())].sort((a, b) => a - b)
  return positions.flatMap((position) => sold[position] ?? [])
}

function indexOf(sold: readonly SoldOperation[]): WordIndex {
  const index = new Map<string, number[]>()
  for (const [position, one] of sold.entries())
    for (const word of new Set(searchText(one).all.split(NO_WORD))) {
      const positions = index.get(word)
      if (positions) positions.push(position)
      else index.set(word, [position])
    }
  return index
}
