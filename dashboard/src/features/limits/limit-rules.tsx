import { LIMIT_TEXT as TEXT } from '../../messages/limits.ts'
import { Card } from '../../ui/layout/card.tsx'

/** The limits that apply besides the tier's, and how clients should handle them. */
export function LimitRules() {
  return (
    <div className="grid gap-6 lg:grid-cols-2">
      <Card title={TEXT.rules}>
        <ul className="grid list-disc gap-1 pl-5">
          {TEXT.ruleList.map((rule) => (
            <li key={rule}>{rule}</li>
          ))}
        </ul>
      </Card>
      <Card title={TEXT.retry}>
        <p>{TEXT.retryText}</p>
        <p>{TEXT.retryAdvice}</p>
      </Card>
    </div>
  )
}
