import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { SocialAccount, SocialAccounts } from '../../api/social.ts'
import { SOCIAL_TEXT as TEXT } from '../../messages/social.ts'
import { Button, buttonClass } from '../../ui/button.tsx'
import { Empty } from '../../ui/feedback/states.tsx'
import { TimeAgo } from '../../ui/format/time.tsx'
import { BareCard } from '../../ui/layout/card.tsx'
import { type Column, Table, type TableState } from '../../ui/layout/table.tsx'
import { Name } from '../../ui/name.tsx'
import { meaningOf, SocialBadge, socialState } from './social-state.tsx'

/** The actions on a linked account. */
export interface LinkActions {
  readonly link: (account: SocialAccount) => void
  readonly unlink: (account: SocialAccount) => void
}

/** All keys with their linked accounts, each with its most useful action. */
export function SocialList({ state, scopes, tools, actions }: SocialListProps) {
  return (
    <BareCard>
      <Table
        caption={TEXT.table}
        columns={columnsOf(scopes, actions)}
        state={state}
        rowKey={({ key }) => key.id}
        tools={tools}
        empty={
          <Empty
            action={
              <Link to="/keys" className={buttonClass()}>
                {TEXT.makeKey}
              </Link>
            }
          >
            {TEXT.none}
          </Empty>
        }
      />
    </BareCard>
  )
}

type SocialListProps = {
  state: TableState<SocialAccount>
  scopes: SocialAccounts['scopes']
  tools: ReactNode
  actions: LinkActions
}

type CellProps = { account: SocialAccount; scopes: SocialAccounts['scopes']; actions: LinkActions }

function columnsOf(scopes: SocialAccounts['scopes'], actions: LinkActions): readonly Column<SocialAccount>[] {
  const { columns } = TEXT
  return [
    { id: 'key', head: columns.key, name: true, cell: (account) => <KeyName account={account} /> },
    { id: 'account', head: columns.account, cell: (account) => <Handle account={account} /> },
    {
      id: 'permissions',
      head: columns.permissions,
      cell: (account) =>
        account.account === null ? '-' : <Permissions account={account} scopes={scopes} actions={actions} />,
    },
    { id: 'linked', head: columns.linked, cell: ({ linked_at: at }) => (at === null ? '-' : <TimeAgo at={at} />) },
    {
      id: 'refreshed',
      head: columns.refreshed,
      cell: ({ refreshed_at: at }) => (at === null ? '-' : <TimeAgo at={at} />),
    },
    {
      id: 'status',
      card: 'aside',
      head: columns.status,
      cell: (account) => <Status account={account} scopes={scopes} actions={actions} />,
    },
    {
      id: 'actions',
      card: 'below',
      head: columns.actions,
      silent: true,
      cell: (account) => <RowActions account={account} scopes={scopes} actions={actions} />,
    },
  ]
}

function KeyName({ account: { key } }: Pick<CellProps, 'account'>) {
  return (
    <Link to="/keys/$id" params={{ id: key.id }} className="block max-w-full min-w-0 font-medium text-accent">
      <Name wide>{key.name}</Name>
    </Link>
  )
}

function Handle({ account: { account } }: Pick<CellProps, 'account'>) {
  if (account === null) return <span className="text-muted">{TEXT.noAccount}</span>
  return (
    <span className="wrap-anywhere" title={account.name}>
      @{account.username}
    </span>
  )
}

function Permissions({ account, scopes }: CellProps) {
  const names = account.scopes.map((scope) => meaningOf(scopes, scope)).join(', ')
  return <span title={names}>{TEXT.granted(account.scopes.length, scopes.length)}</span>
}

function Status({ account, scopes }: CellProps) {
  const { missing_scope: missing } = account
  return (
    <div className="grid justify-items-start gap-1">
      <SocialBadge account={account} />
      {socialState(account) === 'missing' && missing !== null && (
        <span className="small text-muted">{TEXT.lacks(meaningOf(scopes, missing))}</span>
      )}
    </div>
  )
}

function RowActions({ account, actions }: CellProps) {
  const { name } = account.key
  const act = TEXT.statusAction[socialState(account)]
  return (
    <div className="flex flex-wrap justify-end gap-2 max-sm:justify-start">
      <Button aria-label={TEXT.statusActionFor(act, name)} onClick={() => actions.link(account)}>
        {act}
      </Button>
      {(account.account !== null || account.link?.state === 'waiting') && (
        <Button
          tone="quiet"
          aria-label={TEXT.unlinkOf(name)}
          className="text-bad"
          onClick={() => actions.unlink(account)}
        >
          {account.account === null ? TEXT.stopWaiting : TEXT.unlink}
        </Button>
      )}
    </div>
  )
}
