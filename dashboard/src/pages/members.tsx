import { Plus } from 'lucide-react'
import { useState } from 'react'
import { useMay } from '../api/account/account.ts'
import type { Member } from '../api/account/workspaces.ts'
import { InvitationsCard } from '../features/members/invitations-card.tsx'
import { type MemberAct, MembersTable } from '../features/members/members-table.tsx'
import { WorkspaceCard } from '../features/members/workspace-card.tsx'
import { MEMBER_TEXT as TEXT } from '../messages/members.ts'
import { SHELL_TEXT } from '../messages/shell.ts'
import { Button } from '../ui/button.tsx'
import { lazyPart } from '../ui/feedback/lazy-part.tsx'
import { BareCard } from '../ui/layout/card.tsx'
import { Page } from '../ui/layout/page.tsx'

const dialogs = () => import('../features/members/member-dialogs.tsx')
const budgetDialogs = () => import('../features/members/budget-dialogs.tsx')
const DefaultBudgetsDialog = lazyPart(() => budgetDialogs().then(({ DefaultBudgetsDialog }) => DefaultBudgetsDialog))
const InviteDialog = lazyPart(() => dialogs().then(({ InviteDialog }) => InviteDialog))
const DIALOGS = {
  role: lazyPart(() => dialogs().then(({ RoleDialog }) => RoleDialog)),
  budgets: lazyPart(() => budgetDialogs().then(({ MemberBudgetsDialog }) => MemberBudgetsDialog)),
  remove: lazyPart(() => dialogs().then(({ RemoveDialog }) => RemoveDialog)),
  give: lazyPart(() => dialogs().then(({ HandOverDialog }) => HandOverDialog)),
}

/** `/members`: the people of the workspace, and its name. */
export function Members() {
  const isAdmin = useMay('members:write')
  const [open, setOpen] = useState<
    { readonly act: MemberAct; readonly member: Member } | 'invite' | 'new budgets' | null
  >(null)
  const close = () => setOpen(null)
  const chosen = typeof open === 'object' ? open : null
  const MemberDialog = chosen && DIALOGS[chosen.act]
  return (
    <Page
      title={SHELL_TEXT.pagesOf.members}
      lead={TEXT.lead}
      actions={
        isAdmin && (
          <>
            <Button onClick={() => setOpen('new budgets')}>{TEXT.newBudgets}</Button>
            <Button tone="primary" onClick={() => setOpen('invite')}>
              <Plus size={16} aria-hidden />
              {TEXT.invite}
            </Button>
          </>
        )
      }
    >
      <BareCard>
        <MembersTable onAct={(act, member) => setOpen({ act, member })} />
      </BareCard>
      {isAdmin && <InvitationsCard />}
      {isAdmin && <WorkspaceCard />}
      {open === 'invite' && <InviteDialog onClose={close} />}
      {open === 'new budgets' && <DefaultBudgetsDialog onClose={close} />}
      {MemberDialog && chosen && <MemberDialog member={chosen.member} onClose={close} />}
    </Page>
  )
}
