import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { catalogOperationQuery, isImported } from '../../api/catalog.ts'
import { catalogGatewayOperation, operationQuery, operationsQuery } from '../../api/playground/operations.ts'
import { placeholderCall } from '../../api/playground/placeholder-call.ts'
import type { Explained } from '../../api/requests.ts'
import { REQUEST_TEXT as TEXT } from '../../messages/requests.ts'
import { UI_TEXT } from '../../messages/ui.ts'
import { snippet } from '../../sample.ts'
import { buttonClass } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/code/code-block.tsx'
import { Card } from '../../ui/layout/card.tsx'

/** The request as a command with placeholders, and the way to the playground. Nothing for an operation that is no longer offered. */
export function TryAgain({ request }: { request: Explained }) {
  const operation = useCalledOperation(request)
  if (!operation) return null
  const { model } = request
  return (
    <Card title={TEXT.tryAgain}>
      <p className="text-muted">{TEXT.tryAgainText}</p>
      <CodeBlock
        label={UI_TEXT.code}
        code={snippet('curl', placeholderCall(operation, model))}
        copyLabel={TEXT.copyCurl}
      >
        <Link
          to="/playground"
          search={model === null ? { operation: operation.id } : { view: 'chat', model }}
          className={buttonClass()}
        >
          {TEXT.inPlayground}
        </Link>
      </CodeBlock>
    </Card>
  )
}

/** The operation that a request called, from its own document or from the catalog; undefined while it loads. */
function useCalledOperation({ operation: name, calls = [] }: Explained) {
  const imported = isImported(name)
  const index = useQuery({ ...operationsQuery, enabled: !imported }).data
  const id = index?.find((entry) =>
    calls.some(({ method, path }) => method === entry.method && path === entry.path),
  )?.id
  const builtIn = useQuery({ ...operationQuery(id ?? ''), enabled: id !== undefined }).data
  const offered = useQuery({ ...catalogOperationQuery(name), enabled: imported }).data
  return imported ? (offered ? catalogGatewayOperation(offered) : undefined) : builtIn
}
