import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { failureFrom } from '../../../api/client/failure.ts'
import { listState } from '../../../api/client/list-state.ts'
import { modelFiguresQuery, removeModel, type SoldModel, soldModelsQuery } from '../../../api/models.ts'
import { type HealthReading, healthQuery, type UpstreamLine, upstreamsQuery } from '../../../api/operator.ts'
import { MODEL_TEXT as TEXT } from '../../../messages/models.ts'
import { UI_TEXT } from '../../../messages/ui.ts'
import { Badge, type Tone } from '../../../ui/badge.tsx'
import { ConfirmAction } from '../../../ui/dialogs/confirm-action.tsx'
import { lazyPart } from '../../../ui/feedback/lazy-part.tsx'
import { Empty } from '../../../ui/feedback/states.tsx'
import { costUsd, shortCount } from '../../../ui/format/money.ts'
import { TimeAgo } from '../../../ui/format/time.tsx'
import { Card } from '../../../ui/layout/card.tsx'
import { type Column, Table } from '../../../ui/layout/table.tsx'
import { MoreMenu } from '../../../ui/menus/more-menu.tsx'
import { useOperatorAction } from '../action-form.tsx'

const EditModelDialog = lazyPart(() => import('./edit-model.tsx').then(({ EditModelDialog }) => EditModelDialog))

const { columns: HEADS } = TEXT
const TONES: Record<UpstreamLine['breaker'], Tone> = { closed: 'ok', open: 'bad', probing: 'warn' }

interface Figures {
  readonly calls: number
  readonly revenue_micros_usd: number
  readonly upstream_cost_micros_usd: number | null
  readonly margin_micros_usd: number | null
}

interface Health {
  /** The worst one. */
  readonly breaker: UpstreamLine['breaker']
  readonly refusal: UpstreamLine['last_refusal']
  /** Requests to its servers in the last minutes, also those of other models. */
  readonly requests: number
  readonly failures: number
}

interface Row {
  readonly model: SoldModel
  /** Undefined until they have loaded. */
  readonly figures: Figures | undefined
  /** Of its upstreams; undefined until they have loaded. */
  readonly health: Health | undefined
}

const NONE: Figures = { calls: 0, revenue_micros_usd: 0, upstream_cost_micros_usd: 0, margin_micros_usd: 0 }

/** Every model on sale with its price, health and margin. */
export function ModelsCard() {
  const models = useQuery(soldModelsQuery)
  const revenue = useQuery(modelFiguresQuery).data
  const upstreams = useQuery(upstreamsQuery).data?.upstreams
  const servers = useQuery(healthQuery).data?.upstreams
  const [open, setOpen] = useState<{ readonly what: 'edit' | 'remove'; readonly model: SoldModel } | null>(null)
  const close = () => setOpen(null)
  const rows = models.data?.map((model) => ({
    model,
    figures: revenue && (revenue.find(({ name }) => name === model.id) ?? NONE),
    health: upstreams && healthOf(model, upstreams, servers),
  }))
  const actions = ({ model }: Row) =>
    model.in_database ? (
      <MoreMenu
        label={UI_TEXT.actionsOf(model.id)}
        entries={[
          { kind: 'action', label: TEXT.edit, onSelect: () => setOpen({ what: 'edit', model }) },
          { kind: 'action', label: TEXT.remove, danger: true, onSelect: () => setOpen({ what: 'remove', model }) },
        ]}
      />
    ) : null
  return (
    <Card title={TEXT.models} flush>
      <Table
        caption={TEXT.modelTable}
        columns={[
          ...COLUMNS,
          { id: 'act', card: 'below', head: HEADS.act, silent: true, numeric: true, cell: actions },
        ]}
        rowKey={({ model }) => model.id}
        textOf={({ model }) => model.id}
        state={{ rows, ...listState(models) }}
        empty={<Empty>{TEXT.noModels}</Empty>}
      />
      {open?.what === 'edit' && <EditModelDialog model={open.model} onClose={close} />}
      {open?.what === 'remove' && <RemoveModelDialog id={open.model.id} onClose={close} />}
    </Card>
  )
}

function healthOf(
  { upstreams }: SoldModel,
  lines: readonly UpstreamLine[],
  servers: HealthReading['upstreams'] = [],
): Health {
  const own = lines.filter((line) => upstreams.some(({ name, model }) => line.name === `${name} ${model}`))
  const breakers = own.map(({ breaker }) => breaker)
  const asked = servers.filter((server) => upstreams.some(({ name }) => name === server.name))
  return {
    breaker: breakers.find((one) => one === 'open') ?? breakers.find((one) => one === 'probing') ?? 'closed',
    refusal: own.find(({ last_refusal: refusal }) => refusal)?.last_refusal ?? null,
    requests: asked.reduce((sum, { requests }) => sum + requests, 0),
    failures: asked.reduce((sum, { failures }) => sum + failures, 0),
  }
}

const COLUMNS: readonly Column<Row>[] = [
  { id: 'name', head: HEADS.name, cell: ({ model }) => <Name model={model} /> },
  { id: 'health', card: 'aside', head: HEADS.health, cell: ({ health }) => health && <HealthCell {...health} /> },
  { id: 'price', head: HEADS.price, cell: ({ model }) => <Price model={model} /> },
  { id: 'calls', head: HEADS.calls, numeric: true, cell: ({ figures }) => (figures ? shortCount(figures.calls) : '-') },
  {
    id: 'revenue',
    head: HEADS.revenue,
    numeric: true,
    cell: ({ figures }) => usd(figures, figures?.revenue_micros_usd),
  },
  {
    id: 'cost',
    head: HEADS.cost,
    numeric: true,
    cell: ({ figures }) => usd(figures, figures?.upstream_cost_micros_usd),
  },
  { id: 'margin', head: HEADS.margin, numeric: true, cell: ({ figures }) => usd(figures, figures?.margin_micros_usd) },
]

function usd(figures: Figures | undefined, micros: number | null | undefined): string {
  if (!figures || micros === undefined) return '-'
  return micros === null ? TEXT.unknown : costUsd(micros)
}

function Name({ model: { id, upstreams, access } }: { model: SoldModel }) {
  return (
    <div className="grid min-w-40">
      <span className="font-medium wrap-anywhere">{id}</span>
      <span className="code text-muted wrap-anywhere">
        {upstreams.map(({ name, model, vendor }) => `${vendor ?? name} ${model}`).join(', ')}
      </span>
      {access && <span className="small text-muted">{TEXT.accessLine(access.tiers, access.accounts.length)}</span>}
    </div>
  )
}

function HealthCell({ breaker, refusal, requests, failures }: Health) {
  return (
    <div className="grid justify-items-start gap-1">
      <Badge tone={TONES[breaker]}>{TEXT.health[breaker]}</Badge>
      {failures > 0 && <span className="small text-muted">{TEXT.failed(failures, requests)}</span>}
      {refusal && (
        <span className="small max-w-80 text-muted wrap-anywhere">
          {TEXT.refusal(refusal.status, refusal.words)} <TimeAgo at={refusal.at} />
        </span>
      )}
    </div>
  )
}

function Price({ model: { pricing, purchase_pricing: bought } }: { model: SoldModel }) {
  return (
    <div className="grid">
      <span>{priceLine(pricing)}</span>
      {bought && <span className="small text-muted">{TEXT.buys(priceLine(bought))}</span>}
    </div>
  )
}

function priceLine({ input, output }: SoldModel['pricing']): string {
  return input === undefined || output === undefined ? TEXT.otherPrice : TEXT.inOut(`$${input}`, `$${output}`)
}

function RemoveModelDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const removing = useOperatorAction(() => removeModel(id), TEXT.removed(id), onClose)
  return (
    <ConfirmAction
      title={TEXT.removeTitle(id)}
      text={TEXT.removeText}
      cancelLabel={TEXT.keep}
      confirmLabel={TEXT.remove}
      action={removing}
      failure={failureFrom(removing)}
      onClose={onClose}
    />
  )
}
