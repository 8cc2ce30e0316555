import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { catalogOperationQuery, importedQuery, isImported } from '../api/catalog.ts'
import { toApiFailure } from '../api/client/failure.ts'
import {
  catalogGatewayOperation,
  type OperationChoice,
  operationQuery,
  operationsQuery,
} from '../api/playground/operations.ts'
import { TryOperation } from '../features/playground/try-operation.tsx'
import { CHAT_TEXT } from '../messages/chat.ts'
import { PLAYGROUND_TEXT as TEXT } from '../messages/playground.ts'
import { SHELL_TEXT } from '../messages/shell.ts'
import { Failed } from '../ui/feedback/failure.tsx'
import { lazyPart } from '../ui/feedback/lazy-part.tsx'
import { Loading } from '../ui/feedback/states.tsx'
import { Select } from '../ui/field.tsx'
import { Page } from '../ui/layout/page.tsx'
import { Tabs } from '../ui/layout/tabs.tsx'

/** Loaded on demand, because trying an endpoint does not need it. */
const Chat = lazyPart(() => import('../features/playground/chat.tsx').then(({ Chat }) => Chat), {
  fallback: () => <Loading rows={6} />,
})

const FIRST: Readonly<Record<string, string>> = { q: 'credit card' }

const TABS = [
  { value: 'endpoints', text: CHAT_TEXT.endpoints },
  { value: 'chat', text: CHAT_TEXT.chat },
] as const

/** Calls an endpoint from the browser, or chats with a model. */
export function Playground() {
  const { view, model } = useSearch({ from: '/shell/playground' })
  const navigate = useNavigate({ from: '/playground' })
  return (
    <Page title={SHELL_TEXT.pagesOf.playground}>
      <Tabs
        label={CHAT_TEXT.view}
        tabs={TABS}
        chosen={view ?? 'endpoints'}
        onChoose={(tab) => void navigate({ search: tab === 'chat' ? { view: tab } : {} })}
      >
        <div className="grid min-w-0 grid-cols-1 gap-6 pt-3">
          {view === 'chat' ? (
            <Chat
              chosen={model}
              onModel={(id) => void navigate({ search: { view: 'chat', model: id }, replace: true })}
            />
          ) : (
            <Endpoints />
          )}
        </div>
      </Tabs>
    </Page>
  )
}

/** One endpoint at a time. Its form is generated from its own OpenAPI document, or from its entry in the catalog. */
function Endpoints() {
  const view = useSearch({ from: '/shell/playground' })
  const navigate = useNavigate({ from: '/playground' })
  const operations = useQuery(operationsQuery)
  const imported = useImported(view.operation)
  const all = imported && operations.data ? [...operations.data, ...imported] : []
  const choice = all.find(({ id, name }) => id === view.operation || name === view.operation) ?? all[0]
  const fromCatalog = imported?.find(({ id }) => id === choice?.id)
  const document = useQuery({
    ...operationQuery(choice?.id ?? ''),
    enabled: choice !== undefined && fromCatalog === undefined,
  })
  const chosen = fromCatalog ?? document.data
  const failed = [operations, document].find(({ error }) => error !== null)
  const choose = (operation: string) => void navigate({ search: { operation, values: undefined } })
  return (
    <>
      {choice && (
        <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
          <OperationSelect operations={all} chosen={choice} onChoose={choose} />
          <Link to="/catalogue" search={{}} className="text-accent underline">
            {TEXT.browse}
          </Link>
        </div>
      )}
      {failed && <Failed failure={toApiFailure(failed.error)} onRetry={() => void failed.refetch()} />}
      {!chosen && !failed && <Loading rows={6} />}
      {chosen && (
        <TryOperation
          key={chosen.id}
          operation={chosen}
          values={view.values ?? (chosen.fields.some(({ name }) => name === 'q') ? FIRST : {})}
          onValues={(values) => void navigate({ search: { operation: chosen.id, values }, replace: true })}
        />
      )}
    </>
  )
}

/** The first imported operations, and the requested one. Null until it is known whether that one is on sale. */
function useImported(requested: string | undefined) {
  const name = requested !== undefined && isImported(requested) ? requested : null
  const first = useQuery(importedQuery('')).data ?? []
  const one = useQuery({ ...catalogOperationQuery(name ?? ''), enabled: name !== null })
  // Waits for the requested operation instead of showing another one first.
  if (name !== null && one.isPending) return null
  const isListed = first.some((operation) => operation.name === name)
  const imported = one.data && !isListed ? [...first, one.data] : first
  return imported.map(catalogGatewayOperation)
}

function OperationSelect({ operations, chosen, onChoose }: OperationSelectProps) {
  return (
    <Select
      label={TEXT.operation}
      options={operations.map(({ id, title, group }) => ({ value: id, text: title, group }))}
      value={chosen.id}
      onChange={(event) => onChoose(event.target.value)}
    />
  )
}

type OperationSelectProps = {
  operations: readonly OperationChoice[]
  chosen: OperationChoice
  onChoose: (id: string) => void
}
