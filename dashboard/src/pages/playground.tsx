import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { asFailure } from '../api/failure.ts'
import { type GatewayOperation, operationsQuery } from '../api/operations.ts'
import { TryOperation } from '../features/playground/try-operation.tsx'
import { Select } from '../ui/field.tsx'
import { Page } from '../ui/page.tsx'
import { Failed, Loading } from '../ui/states.tsx'
import { PLAYGROUND_WORDS as WORDS } from '../words/playground.ts'
import { SHELL_WORDS } from '../words/shell.ts'

const FIRST: Readonly<Record<string, string>> = { q: 'credit card' }

/** Any endpoint, tried from the browser. The form is made of the gateway's own document. */
export function Playground() {
  const view = useSearch({ from: '/shell/playground' })
  const navigate = useNavigate({ from: '/playground' })
  const operations = useQuery(operationsQuery)
  const all = operations.data ?? []
  const chosen = all.find(({ id }) => id === view.operation) ?? all[0]
  const choose = (operation: string) => void navigate({ search: { operation, values: undefined }, replace: true })
  return (
    <Page
      title={SHELL_WORDS.pagesOf.playground}
      actions={chosen && <OperationSelect operations={all} chosen={chosen} onChoose={choose} />}
    >
      {operations.error && (
        <Failed failure={asFailure(operations.error)} onTryAgain={() => void operations.refetch()} />
      )}
      {operations.isPending && <Loading rows={6} />}
      {chosen && (
        <TryOperation
          key={chosen.id}
          operation={chosen}
          typed={view.values ?? (chosen.fields.some(({ name }) => name === 'q') ? FIRST : {})}
          onTyped={(values) => void navigate({ search: { operation: chosen.id, values }, replace: true })}
        />
      )}
    </Page>
  )
}

function OperationSelect({ operations, chosen, onChoose }: OperationSelectProps) {
  const groups = [...new Set(operations.map(({ group }) => group))]
  return (
    <Select label={WORDS.operation} options={[]} value={chosen.id} onChange={(event) => onChoose(event.target.value)}>
      {groups.map((group) => (
        <optgroup key={group} label={group}>
          {operations
            .filter((operation) => operation.group === group)
            .map(({ id, title }) => (
              <option key={id} value={id}>
                {title}
              </option>
            ))}
        </optgroup>
      ))}
    </Select>
  )
}

type OperationSelectProps = {
  operations: readonly GatewayOperation[]
  chosen: GatewayOperation
  onChoose: (id: string) => void
}
