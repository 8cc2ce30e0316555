import { BookBuilder } from '../../server/core/goggles/rule-book'
import { RuleSet } from '../../server/core/goggles/rule-set'

/** The rules of goggles, each in a book of its own. */
export function ruleSet(texts: readonly string[]): RuleSet {
  return new RuleSet(
    texts.flatMap((text) => {
      const builder = new BookBuilder(text)
      builder.build(Number.POSITIVE_INFINITY)
      return builder.book ?? []
    }),
  )
}
