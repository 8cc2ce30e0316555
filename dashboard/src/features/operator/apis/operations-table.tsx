import { useQuery } from '@tanstack/react-query'
import { type ApiDetails, type ApiFigures, type ApiOperation, apiReportQuery, changeApi } from '../../../api/apis.ts'
import { API_TEXT as TEXT } from '../../../messages/apis.ts'
import { UI_TEXT } from '../../../messages/ui.ts'
import { Badge } from '../../../ui/badge.tsx'
import { Button } from '../../../ui/button.tsx'
import { Empty } from '../../../ui/feedback/states.tsx'
import { priceText } from '../../../ui/format/api-price.ts'
import { shortCount } from '../../../ui/format/money.ts'
import { Card } from '../../../ui/layout/card.tsx'
import { type Column, staticRows, Table } from '../../../ui/layout/table.tsx'
import { MoreMenu } from '../../../ui/menus/more-menu.tsx'
import { useOperatorAction } from '../action-form.tsx'
import { HealthBadge, marginOf, revenueText, SaleBadge } from './api-facts.tsx'

const { operationColumns: HEADS, columns } = TEXT

const NO_CALLS: ApiFigures = {
  calls: 0,
  served: 0,
  failed: 0,
  revenue_micros_usd: 0,
  upstream_cost_micros_usd: 0,
  recent_calls: 0,
  recent_failed: 0,
}

/** The operations of an API: what they cost, what they earned, and what an operator can do with them. */
export function OperationsTable({ api, onTry, onPrice }: OperationsTableProps) {
  const report = useQuery(apiReportQuery).data?.apis.find(({ name }) => name === api.name)
  const figuresOf = ({ name }: ApiOperation) =>
    report && (report.operations.find((one) => one.name === name) ?? NO_CALLS)
  const switching = useOperatorAction(
    ({ id, enabled }: Pick<ApiOperation, 'id' | 'enabled'>) =>
      changeApi(api.name, { operations: [{ id, enabled: enabled ?? true }] }),
    ({ id, enabled }) => (enabled ? TEXT.nowOnSale(id) : TEXT.nowOffSale(id)),
    () => undefined,
  )
  const actions = (operation: ApiOperation) => (
    <Actions
      operation={operation}
      onTry={onTry}
      onPrice={onPrice}
      onSwitch={(enabled) => switching.mutate({ id: operation.id, enabled })}
    />
  )
  return (
    <Card title={TEXT.operations} flush>
      <Table
        caption={TEXT.operationTable}
        columns={columnsOf(api, figuresOf, actions)}
        rowKey={({ id }) => id}
        textOf={({ id }) => id}
        state={staticRows(api.operations)}
        rowClass={({ enabled }) => (enabled ? undefined : 'text-muted')}
        empty={<Empty>{TEXT.noOperations}</Empty>}
      />
    </Card>
  )
}

type OperationsTableProps = {
  api: ApiDetails
  onTry: (operation: ApiOperation) => void
  onPrice: (operation: ApiOperation) => void
}

function columnsOf(
  api: ApiDetails,
  figuresOf: (operation: ApiOperation) => ApiFigures | undefined,
  actions: Column<ApiOperation>['cell'],
): readonly Column<ApiOperation>[] {
  return [
    { id: 'name', head: HEADS.name, cell: (operation) => <OperationTitle operation={operation} /> },
    { id: 'price', head: HEADS.price, cell: ({ price }) => priceText(price) },
    {
      id: 'state',
      head: HEADS.state,
      card: 'aside' as const,
      cell: ({ enabled = true }) => <SaleBadge enabled={enabled} waits={!api.enabled} />,
    },
    { id: 'calls', head: columns.calls, numeric: true, cell: (operation) => callsOf(figuresOf(operation)) },
    { id: 'revenue', head: columns.revenue, numeric: true, cell: (operation) => revenueText(figuresOf(operation)) },
    { id: 'margin', head: columns.margin, numeric: true, cell: (operation) => marginOf(figuresOf(operation)) },
    { id: 'errors', head: columns.errors, cell: (operation) => <HealthBadge figures={figuresOf(operation)} /> },
    { id: 'act', card: 'below', head: HEADS.act, silent: true, numeric: true, cell: actions },
  ]
}

function callsOf(figures: ApiFigures | undefined): string {
  return figures ? shortCount(figures.calls) : '-'
}

/** Writes are marked as in the catalogue: keys without a list may not call them. */
export function OperationTitle({
  operation,
}: {
  operation: Pick<ApiOperation, 'title' | 'method' | 'path' | 'effect'>
}) {
  const { title, method, path, effect } = operation
  return (
    <div className="grid min-w-40">
      <span className="flex flex-wrap items-center gap-x-2">
        <span className="font-medium wrap-anywhere">{title ?? `${method} ${path}`}</span>
        {effect === 'write' && <Badge tone="warn">{TEXT.changesData}</Badge>}
      </span>
      <span className="code text-muted wrap-anywhere">
        {method} {path}
      </span>
    </div>
  )
}

function Actions({ operation, onTry, onPrice, onSwitch }: ActionsProps) {
  const { enabled = true, title = operation.id } = operation
  return (
    <div className="flex items-center justify-end gap-1">
      <Button aria-label={`${TEXT.try}: ${title}`} onClick={() => onTry(operation)}>
        {TEXT.try}
      </Button>
      <MoreMenu
        entries={[
          { kind: 'action', label: TEXT.price, onSelect: () => onPrice(operation) },
          {
            kind: 'action',
            label: enabled ? TEXT.takeOffSale : TEXT.putOnSale,
            onSelect: () => onSwitch(!enabled),
          },
        ]}
        label={UI_TEXT.actionsOf(title)}
      />
    </div>
  )
}

type ActionsProps = {
  operation: ApiOperation
  onTry: (operation: ApiOperation) => void
  onPrice: (operation: ApiOperation) => void
  onSwitch: (enabled: boolean) => void
}
