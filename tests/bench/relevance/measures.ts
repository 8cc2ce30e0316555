/** The grade of a page, from 1 (of some use) to 3 (the wanted one); pages not named are 0. */
export type Grades = Readonly<Record<string, number>>

const DEPTH = 10

/** Normalised discounted cumulative gain of the first ten, 0 to 1; a page's gain is `2^grade - 1`. */
export function ndcg(found: readonly string[], grades: Grades): number {
  const best = Object.values(grades).sort((a, b) => b - a)
  const ideal = gainOf(best)
  return ideal === 0 ? 0 : gainOf(found.map((url) => grades[url] ?? 0)) / ideal
}

/** One over the place of the first page that is of use at all (grade 2 or 3), among the first ten; 0 when there is none. */
export function reciprocalRank(found: readonly string[], grades: Grades): number {
  const place = found.slice(0, DEPTH).findIndex((url) => (grades[url] ?? 0) >= 2)
  return place === -1 ? 0 : 1 / (place + 1)
}

function gainOf(grades: readonly number[]): number {
  return grades.slice(0, DEPTH).reduce((sum, grade, at) => sum + (2 ** grade - 1) / Math.log2(at + 2), 0)
}
