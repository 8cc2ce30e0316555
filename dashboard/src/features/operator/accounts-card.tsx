import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { listState } from '../../api/client/list-state.ts'
import { type AccountLine, accountsQuery } from '../../api/operator.ts'
import { CUSTOMER_TEXT } from '../../messages/customer.ts'
import { OPERATOR_TEXT as TEXT } from '../../messages/operator.ts'
import { SHELL_TEXT } from '../../messages/shell.ts'
import { UI_TEXT } from '../../messages/ui.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { lazyPart } from '../../ui/feedback/lazy-part.tsx'
import { Empty } from '../../ui/feedback/states.tsx'
import { balanceUsd, grouped, MICROS_PER_USD } from '../../ui/format/money.ts'
import { TimeAgo } from '../../ui/format/time.tsx'
import { Card } from '../../ui/layout/card.tsx'
import { SearchBox } from '../../ui/layout/search-box.tsx'
import { type Column, Table } from '../../ui/layout/table.tsx'
import { MoreMenu } from '../../ui/menus/more-menu.tsx'

const AccountDialog = lazyPart(() => import('./account-dialogs.tsx').then(({ AccountDialog }) => AccountDialog))

const { accountColumns: HEADS } = TEXT
type OpenDialog = { what: 'grant' | 'limits'; account: AccountLine } | null

/** All accounts, with search and the operator's actions; support has none here. */
export function AccountsCard({ isOperator }: { isOperator: boolean }) {
  const [search, setSearch] = useState('')
  const [dialog, setDialog] = useState<OpenDialog>(null)
  const accounts = useInfiniteQuery(accountsQuery(search))
  const menu = (account: AccountLine) => isOperator && <AccountMenu account={account} onChoose={setDialog} />
  return (
    <Card title={TEXT.accounts} flush>
      <Table
        caption={TEXT.accountTable}
        columns={columnsWith(menu)}
        tools={
          <SearchBox
            label={TEXT.search}
            hint={TEXT.searchHint}
            value={search}
            button={UI_TEXT.searchRows}
            onSearch={setSearch}
          />
        }
        rowKey={({ id }) => id}
        state={{
          rows: accounts.data?.pages.flatMap((page) => page.accounts),
          ...listState(accounts),
        }}
        empty={<Empty action={<Button onClick={() => setSearch('')}>{TEXT.clear}</Button>}>{TEXT.noAccounts}</Empty>}
      />
      {dialog && <AccountDialog what={dialog.what} account={dialog.account} onClose={() => setDialog(null)} />}
    </Card>
  )
}

function columnsWith(menu: Column<AccountLine>['cell']): readonly Column<AccountLine>[] {
  return [
    { id: 'who', head: HEADS.who, cell: (account) => <AccountName account={account} /> },
    { id: 'tier', head: HEADS.tier, cell: ({ tier }) => SHELL_TEXT.tiers[tier] },
    {
      id: 'limits',
      head: HEADS.limits,
      cell: (account) => <span className="whitespace-nowrap">{limitsOf(account)}</span>,
    },
    { id: 'balance', head: HEADS.balance, numeric: true, cell: balanceOf },
    { id: 'at', head: HEADS.at, cell: ({ created_at: at }) => <TimeAgo at={at} /> },
    { id: 'act', head: HEADS.act, silent: true, numeric: true, cell: menu },
  ]
}

function limitsOf({ limits }: AccountLine): string {
  return [limits.rpm, limits.tpm, limits.concurrency].map(grouped).join(' / ')
}

function balanceOf({ balance_usd: balance }: AccountLine): string {
  return balanceUsd(Math.round(Number(balance) * MICROS_PER_USD))
}

function AccountName({ account }: { account: AccountLine }) {
  return (
    <span className="grid min-w-0">
      <span className="flex flex-wrap items-center gap-2 font-medium wrap-anywhere">
        <Link to="/operator/accounts/$id" params={{ id: account.id }} className="text-accent">
          {account.email ?? account.id}
        </Link>
        {account.role && <Badge>{CUSTOMER_TEXT.roles[account.role]}</Badge>}
        {account.suspension && <Badge>{TEXT.suspended}</Badge>}
      </span>
      <span className="code text-muted wrap-anywhere">{account.id}</span>
    </span>
  )
}

function AccountMenu({ account, onChoose }: { account: AccountLine; onChoose: (dialog: OpenDialog) => void }) {
  return (
    <MoreMenu
      entries={[
        { kind: 'action', label: TEXT.grant, onSelect: () => onChoose({ what: 'grant', account }) },
        { kind: 'action', label: TEXT.limits, onSelect: () => onChoose({ what: 'limits', account }) },
      ]}
      label={UI_TEXT.actionsOf(account.email ?? account.id)}
    />
  )
}
