import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { accountQuery } from '../api/account/account.ts'
import { listState } from '../api/client/list-state.ts'
import { type Customer, type CustomerKey, customerQuery, exportPath } from '../api/customer.ts'
import type { CustomerDialogName } from '../features/operator/customer/customer-dialogs.tsx'
import { RequestsCard } from '../features/operator/customer/customer-requests.tsx'
import { OperatorOnly } from '../features/operator/operator-only.tsx'
import { CUSTOMER_TEXT as TEXT } from '../messages/customer.ts'
import { SHELL_TEXT } from '../messages/shell.ts'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { lazyPart } from '../ui/feedback/lazy-part.tsx'
import { Loading } from '../ui/feedback/states.tsx'
import { balanceUsd, costUsd } from '../ui/format/money.ts'
import { TimeAgo } from '../ui/format/time.tsx'
import { BackLink } from '../ui/layout/back-link.tsx'
import { Card, Figure, Figures } from '../ui/layout/card.tsx'
import { DangerZone, DetailPage } from '../ui/layout/detail-page.tsx'
import { Page } from '../ui/layout/page.tsx'
import { MoreMenu } from '../ui/menus/more-menu.tsx'

// Below the first figures, or on a tab of its own.
const SpendCard = lazyPart(
  () => import('../features/operator/customer/customer-spend.tsx').then(({ SpendCard }) => SpendCard),
  {
    fallback: () => <Loading rows={6} />,
  },
)

const LimitsCard = lazyPart(() =>
  import('../features/operator/customer/customer-limits.tsx').then(({ LimitsCard }) => LimitsCard),
)
const AdjustmentsCard = lazyPart(() =>
  import('../features/operator/customer/customer-limits.tsx').then(({ AdjustmentsCard }) => AdjustmentsCard),
)
const KeysTable = lazyPart(() =>
  import('../features/operator/customer/customer-tables.tsx').then(({ CustomerKeysTable: KeysTable }) => KeysTable),
)
const PaymentsTable = lazyPart(() =>
  import('../features/operator/customer/customer-tables.tsx').then(
    ({ CustomerPaymentsTable: PaymentsTable }) => PaymentsTable,
  ),
)
const RefundsTable = lazyPart(() =>
  import('../features/operator/customer/customer-tables.tsx').then(({ RefundsTable }) => RefundsTable),
)
const ChangesTable = lazyPart(() =>
  import('../features/operator/customer/customer-tables.tsx').then(({ ChangesTable }) => ChangesTable),
)
const TransactionsCard = lazyPart(() =>
  import('../features/operator/customer/customer-spend.tsx').then(({ TransactionsCard }) => TransactionsCard),
)
const CustomerDialog = lazyPart(() =>
  import('../features/operator/customer/customer-dialogs.tsx').then(({ CustomerDialog }) => CustomerDialog),
)

type OpenDialog = {
  what: CustomerDialogName
  payment?: { id: string; amount: string }
  revoked?: CustomerKey
} | null

/** One customer: balance, requests and why they get a 402, limits, keys, payments, changes, and what an operator can do for it. */
export function OperatorAccount() {
  const { id } = useParams({ from: '/shell/operator/accounts/$id' })
  const query = useQuery(customerQuery(id))
  return (
    <OperatorOnly title={TEXT.title} forSupport>
      <DetailPage
        back={<BackLink to="/operator">{TEXT.back}</BackLink>}
        title={TEXT.title}
        data={query.data}
        {...listState(query)}
      >
        {(customer) => <Details customer={customer} />}
      </DetailPage>
    </OperatorOnly>
  )
}

function Details({ customer }: { customer: Customer }) {
  const [dialog, setDialog] = useState<OpenDialog>(null)
  const isOperator = useQuery(accountQuery).data?.operator ?? false
  const { account } = customer
  const open = (what: CustomerDialogName) => setDialog({ what })
  return (
    <Page
      title={account.email ?? account.id}
      lead={
        <span className="flex flex-wrap items-center gap-3">
          <span>{SHELL_TEXT.tiers[account.tier]}</span>
          {account.role && <Badge>{TEXT.roles[account.role]}</Badge>}
          <span className="code wrap-anywhere">{account.id}</span>
        </span>
      }
      actions={<Actions customer={customer} isOperator={isOperator} onOpen={open} />}
    >
      {account.suspension && (
        <p role="status" className="rounded-md bg-warn-soft px-4 py-3 text-warn wrap-anywhere">
          {TEXT.suspended(account.suspension.since.slice(0, 10), account.suspension.reason)}
        </p>
      )}
      <Money customer={customer} />
      {customer.why_402.length > 0 && (
        <Card title={TEXT.why}>
          <ul className="grid list-disc gap-1 pl-5">
            {customer.why_402.map((reason) => (
              <li key={reason} className="wrap-anywhere">
                {reason}
              </li>
            ))}
          </ul>
        </Card>
      )}
      <Notes customer={customer} onAdd={() => open('note')} />
      <RequestsCard id={account.id} />
      <SpendCard id={account.id} />
      <LimitsCard id={account.id} onSet={isOperator ? open : null} />
      <AdjustmentsCard
        id={account.id}
        onGrant={isOperator ? () => open('grant') : null}
        onDebit={isOperator ? () => open('debit') : null}
      />
      <KeysTable id={account.id} onRevoke={(revoked) => setDialog({ what: 'revoke-key', revoked })} />
      <PaymentsTable
        id={account.id}
        onRefund={isOperator ? (payment) => setDialog({ what: 'refund', payment }) : null}
      />
      <RefundsTable id={account.id} />
      <TransactionsCard id={account.id} />
      <ChangesTable id={account.id} />
      {isOperator && (
        <DangerZone actions={[{ label: TEXT.erase, text: TEXT.eraseText, onSelect: () => open('erase') }]} />
      )}
      {dialog && (
        <CustomerDialog
          what={dialog.what}
          payment={dialog.payment}
          revoked={dialog.revoked}
          customer={customer}
          onClose={() => setDialog(null)}
        />
      )}
    </Page>
  )
}

function Money({ customer }: { customer: Customer }) {
  return (
    <Figures>
      <Figure
        label={TEXT.balance}
        value={balanceUsd(customer.balance_micros_usd)}
        title={costUsd(customer.balance_micros_usd)}
      >
        {customer.debt_micros_usd > 0
          ? TEXT.debt(costUsd(customer.debt_micros_usd))
          : TEXT.parts(costUsd(customer.credit_micros_usd), costUsd(customer.paid_micros_usd))}
      </Figure>
      <Figure label={TEXT.available} value={costUsd(customer.available_micros_usd)}>
        {TEXT.held(costUsd(customer.held_micros_usd))}
      </Figure>
      <Figure label={TEXT.paid} value={costUsd(customer.topped_up_micros_usd)} />
    </Figures>
  )
}

function Notes({ customer, onAdd }: { customer: Customer; onAdd: () => void }) {
  return (
    <Card title={TEXT.notes} aside={<Button onClick={onAdd}>{TEXT.note}</Button>}>
      {customer.notes.length === 0 && <p className="text-muted">{TEXT.noNotes}</p>}
      {customer.notes.map((note) => (
        <p key={note.id} className="grid gap-1 wrap-anywhere">
          <span className="small text-muted">
            {note.author ?? TEXT.console} · <TimeAgo at={note.at} />
          </span>
          <span className="whitespace-pre-wrap">{note.text}</span>
        </p>
      ))}
    </Card>
  )
}

type ActionsProps = { customer: Customer; isOperator: boolean; onOpen: (what: CustomerDialogName) => void }

function Actions({ customer, isOperator, onOpen }: ActionsProps) {
  const { id, suspension } = customer.account
  const entry = (label: string, onSelect: () => void) => ({ kind: 'action' as const, label, onSelect })
  const forOperators = [
    entry(TEXT.grant, () => onOpen('grant')),
    entry(TEXT.debit, () => onOpen('debit')),
    entry(TEXT.setLimits, () => onOpen('limits')),
    entry(TEXT.refundCharge, () => onOpen('refund-charge')),
    entry(TEXT.resetPassword, () => onOpen('password')),
    entry(TEXT.resetSecondFactor, () => onOpen('second-factor')),
    entry(TEXT.role, () => onOpen('role')),
    entry(TEXT.export, () => window.location.assign(exportPath(id))),
  ]
  return (
    <>
      <Button tone={suspension ? 'primary' : 'warning'} onClick={() => onOpen(suspension ? 'lift' : 'suspend')}>
        {suspension ? TEXT.lift : TEXT.suspend}
      </Button>
      <MoreMenu
        entries={[entry(TEXT.endSessions, () => onOpen('end-sessions')), ...(isOperator ? forOperators : [])]}
        label={TEXT.more}
      />
    </>
  )
}
