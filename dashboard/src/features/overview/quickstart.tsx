import { Card } from '../../ui/card.tsx'
import { CodeBlock } from '../../ui/code-block.tsx'
import { OVERVIEW_WORDS as WORDS } from '../../words/overview.ts'

/** A first request to paste into a shell. */
export function Quickstart() {
  const command = `curl "${window.location.origin}/apis/v1/websearch/images/search?q=credit+card" \\
  -H "Authorization: Bearer $GATEWAY_API_KEY"`
  return (
    <Card title={WORDS.quickstart}>
      <p className="text-muted">{WORDS.quickstartText}</p>
      <CodeBlock label={WORDS.command} code={command} copyLabel={WORDS.copyCommand} />
    </Card>
  )
}
