import { firstRequest } from '../../sample.ts'
import { Card } from '../../ui/card.tsx'
import { SampleTabs } from '../../ui/sample-tabs.tsx'
import { OVERVIEW_WORDS as WORDS } from '../../words/overview.ts'

/** A first request to paste. The key stays in a variable. */
export function Quickstart() {
  return (
    <Card title={WORDS.quickstart}>
      <p className="text-muted">{WORDS.quickstartText}</p>
      <SampleTabs sample={firstRequest({ variable: 'GATEWAY_API_KEY' })} />
    </Card>
  )
}
