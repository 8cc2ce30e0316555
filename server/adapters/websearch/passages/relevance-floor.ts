import type { RankedPage } from './ranked-page'

/** The values of `context_threshold_mode` (spec 4.2). */
export type ThresholdMode = 'disabled' | 'lenient' | 'balanced' | 'strict'

interface Floor {
  /** The minimum share of the question that a passage must cover. */
  readonly coverage: number
  /** The minimum score, as a share of the best passage's. */
  readonly score: number
}

const FLOORS: Readonly<Record<ThresholdMode, Floor>> = {
  disabled: { coverage: 0, score: 0 },
  lenient: { coverage: 0.2, score: 0.02 },
  balanced: { coverage: 0.5, score: 0.08 },
  strict: { coverage: 0.8, score: 0.2 },
}

/**
 * Removes passages that are not relevant enough, and then pages without passages. Keeps the order. Every mode keeps a subset of what
 * the mode before it keeps.
 */
export function aboveThreshold(pages: readonly RankedPage[], mode: ThresholdMode): RankedPage[] {
  const floor = FLOORS[mode]
  const best = pages.reduce((max, page) => Math.max(max, page.passages[0]?.score ?? 0), 0)
  return pages.flatMap((page) => {
    const passages = page.passages.filter(
      (passage) => passage.coverage >= floor.coverage && passage.score >= floor.score * best,
    )
    return passages.length === 0 ? [] : [{ ...page, passages }]
  })
}
