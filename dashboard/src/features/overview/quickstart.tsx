import { OVERVIEW_TEXT as TEXT } from '../../messages/overview.ts'
import { firstRequest } from '../../sample.ts'
import { SampleTabs } from '../../ui/code/sample-tabs.tsx'
import { Card } from '../../ui/layout/card.tsx'

/** A first request to paste. The key is read from an environment variable. */
export function Quickstart() {
  return (
    <Card title={TEXT.quickstart}>
      <p className="text-muted">{TEXT.quickstartText}</p>
      <SampleTabs sample={firstRequest({ variable: 'GATEWAY_API_KEY' })} />
    </Card>
  )
}
