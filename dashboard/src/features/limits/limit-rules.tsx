import { Card } from '../../ui/card.tsx'
import { LIMIT_WORDS as WORDS } from '../../words/limits.ts'

/** What binds beside the tier, and how to behave at a limit. */
export function LimitRules() {
  return (
    <div className="grid gap-6 lg:grid-cols-2">
      <Card title={WORDS.rules}>
        <ul className="grid list-disc gap-1 pl-5">
          {WORDS.ruleList.map((rule) => (
            <li key={rule}>{rule}</li>
          ))}
        </ul>
      </Card>
      <Card title={WORDS.retry}>
        <p>{WORDS.retryText}</p>
        <p>{WORDS.retryAdvice}</p>
      </Card>
    </div>
  )
}
