import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { type ApiDetails, type ApiOperation, apiQuery, changeApi } from '../api/apis.ts'
import { toApiFailure } from '../api/client/failure.ts'
import { listState } from '../api/client/list-state.ts'
import { useOperatorAction } from '../features/operator/action-form.tsx'
import { SaleBadge } from '../features/operator/apis/api-facts.tsx'
import { ApiFiguresRow } from '../features/operator/apis/api-figures.tsx'
import { ClosedTable } from '../features/operator/apis/closed-table.tsx'
import { OperationsTable } from '../features/operator/apis/operations-table.tsx'
import { PaymentsTable } from '../features/operator/apis/payments-table.tsx'
import { OperatorOnly } from '../features/operator/operator-only.tsx'
import { API_TEXT as TEXT } from '../messages/apis.ts'
import { Button, buttonClass } from '../ui/button.tsx'
import { FormFailure } from '../ui/feedback/failure.tsx'
import { lazyPart } from '../ui/feedback/lazy-part.tsx'
import { BackLink } from '../ui/layout/back-link.tsx'
import { DangerZone, DetailPage } from '../ui/layout/detail-page.tsx'
import { Page } from '../ui/layout/page.tsx'

const ApiSettings = lazyPart(() =>
  import('../features/operator/apis/api-settings.tsx').then(({ ApiSettings }) => ApiSettings),
)
const PriceDialog = lazyPart(() =>
  import('../features/operator/apis/price-dialog.tsx').then(({ OperationPriceDialog }) => OperationPriceDialog),
)
const RemoveDialog = lazyPart(() =>
  import('../features/operator/apis/remove-api.tsx').then(({ RemoveApiDialog }) => RemoveApiDialog),
)
const Trial = lazyPart(() =>
  import('../features/playground/operation-trial.tsx').then(({ OperationTrial }) => OperationTrial),
)

type OpenDialog = { what: 'try' | 'price'; operation: ApiOperation } | { what: 'remove' } | null

/** One API: what it earned, where it is, and its operations. */
export function OperatorApi() {
  const { name } = useParams({ from: '/shell/operator/apis/$name' })
  const query = useQuery(apiQuery(name))
  return (
    <OperatorOnly title={TEXT.title}>
      <DetailPage
        back={<BackLink to="/operator/apis">{TEXT.back}</BackLink>}
        title={TEXT.title}
        data={query.data}
        {...listState(query)}
      >
        {(api) => <Details api={api} />}
      </DetailPage>
    </OperatorOnly>
  )
}

function Details({ api }: { api: ApiDetails }) {
  const [dialog, setDialog] = useState<OpenDialog>(null)
  const navigate = useNavigate()
  const close = () => setDialog(null)
  return (
    <Page
      title={api.title}
      lead={
        <span className="flex flex-wrap items-center gap-3">
          <SaleBadge enabled={api.enabled} />
          <span className="code wrap-anywhere">/apis/v1/{api.name}</span>
        </span>
      }
      actions={<Actions api={api} />}
    >
      {!api.enabled && <p className="rounded-md bg-warn-soft px-4 py-3 text-warn">{TEXT.notOnSale}</p>}
      <ApiFiguresRow name={api.name} />
      <OperationsTable
        api={api}
        onTry={(operation) => setDialog({ what: 'try', operation })}
        onPrice={(operation) => setDialog({ what: 'price', operation })}
      />
      {api.auth.startsWith('402:') && <PaymentsTable name={api.name} />}
      {api.closed.length > 0 && <ClosedTable api={api} />}
      <ApiSettings api={api} />
      <DangerZone
        actions={[{ label: TEXT.remove, text: TEXT.removeText, onSelect: () => setDialog({ what: 'remove' }) }]}
      />
      {dialog?.what === 'try' && <Trial api={api.name} operation={dialog.operation} onClose={close} />}
      {dialog?.what === 'price' && <PriceDialog api={api.name} operation={dialog.operation} onClose={close} />}
      {dialog?.what === 'remove' && (
        <RemoveDialog name={api.name} onClose={close} onRemoved={() => void navigate({ to: '/operator/apis' })} />
      )}
    </Page>
  )
}

function Actions({ api }: { api: ApiDetails }) {
  const switching = useOperatorAction(
    (enabled: boolean) => changeApi(api.name, { enabled }),
    (enabled) => (enabled ? TEXT.nowOnSale(api.title) : TEXT.nowOffSale(api.title)),
    () => undefined,
  )
  return (
    <>
      <Button
        tone={api.enabled ? 'plain' : 'primary'}
        busy={switching.isPending}
        onClick={() => switching.mutate(!api.enabled)}
      >
        {api.enabled ? TEXT.takeOffSale : TEXT.putOnSale}
      </Button>
      <Link to="/operator/apis/$name/import" params={{ name: api.name }} className={buttonClass()}>
        {TEXT.importAgain}
      </Link>
      {switching.error && <FormFailure failure={toApiFailure(switching.error)} />}
    </>
  )
}
