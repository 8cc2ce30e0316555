import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { GIVEN_ROLES, mayDo } from '../../../../server/core/accounts/roles.ts'
import {
  changeRole,
  type GivenRole,
  handOver,
  inviteMember,
  type Member,
  membersQuery,
  removeMember,
} from '../../api/account/workspaces.ts'
import { failureFrom } from '../../api/client/failure.ts'
import { MEMBER_TEXT as TEXT } from '../../messages/members.ts'
import { Button } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/code/copy-button.tsx'
import { SecretField } from '../../ui/code/secret-field.tsx'
import { ConfirmAction } from '../../ui/dialogs/confirm-action.tsx'
import { Dialog, DialogButtons } from '../../ui/dialogs/dialog.tsx'
import { FormFailure } from '../../ui/feedback/failure.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { Choice, Choices, Field } from '../../ui/field.tsx'
import { useMemberChange } from './use-member-change.ts'

function RoleChoices({ value, onChange }: { value: GivenRole; onChange: (role: GivenRole) => void }) {
  return (
    <Choices legend={TEXT.role}>
      {GIVEN_ROLES.map((role) => (
        <Choice
          key={role}
          name="role"
          checked={role === value}
          onChange={() => onChange(role)}
          label={
            <span>
              {TEXT.roles[role]} <span className="small text-muted">{TEXT.may[role]}</span>
            </span>
          }
        />
      ))}
    </Choices>
  )
}

export function InviteDialog({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient()
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<GivenRole>('developer')
  const [isMissing, setMissing] = useState(false)
  const inviting = useMutation({
    mutationFn: () => inviteMember(email.trim(), role),
    onSuccess: (sent) => {
      if (sent.link !== null) return
      void toast(TEXT.sentTo(sent.email))
      onClose()
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['invitations'] }),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setMissing(email.trim() === '')
    if (email.trim() !== '' && !inviting.isPending) inviting.mutate()
  }
  const link = inviting.data?.link
  if (link)
    return (
      <Dialog title={TEXT.linkTitle} onClose={onClose} firm>
        <SecretField label={TEXT.link} hint={TEXT.linkHint} secret={link} />
        <DialogButtons>
          <CopyButton label={TEXT.copyLink} text={link} />
          <Button tone="primary" onClick={onClose}>
            {TEXT.close}
          </Button>
        </DialogButtons>
      </Dialog>
    )
  return (
    <Dialog title={TEXT.inviteTitle} onClose={onClose}>
      <form noValidate onSubmit={submit} className="grid gap-4">
        <Field label={TEXT.email} error={isMissing ? TEXT.emailMissing : undefined}>
          {(control) => (
            <input
              {...control}
              type="email"
              autoComplete="off"
              value={email}
              onChange={({ target }) => setEmail(target.value)}
            />
          )}
        </Field>
        <RoleChoices value={role} onChange={setRole} />
        <FormFailure failure={failureFrom(inviting)} />
        <DialogButtons>
          <Button onClick={onClose}>{TEXT.cancel}</Button>
          <Button type="submit" tone="primary" busy={inviting.isPending}>
            {TEXT.send}
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  )
}

type MemberDialogProps = { member: Member; onClose: () => void }

export function RoleDialog({ member, onClose }: MemberDialogProps) {
  const [role, setRole] = useState<GivenRole>(GIVEN_ROLES.find((one) => one === member.role) ?? 'viewer')
  const changing = useMemberChange(() => changeRole(member.id, role), TEXT.roleChanged, onClose)
  return (
    <Dialog title={TEXT.roleTitle(member.name)} onClose={onClose}>
      <RoleChoices value={role} onChange={setRole} />
      <FormFailure failure={failureFrom(changing)} />
      <DialogButtons>
        <Button onClick={onClose}>{TEXT.cancel}</Button>
        <Button tone="primary" busy={changing.isPending} onClick={() => changing.mutate()}>
          {TEXT.save}
        </Button>
      </DialogButtons>
    </Dialog>
  )
}

/** What becomes of the keys: `disable`, `keep`, or the id of the member who gets them. */
export function RemoveDialog({ member, onClose }: MemberDialogProps) {
  const members = useQuery(membersQuery).data?.members ?? []
  const heirs = members.filter((one) => one.id !== member.id && mayDo(one.role, 'keys:write'))
  const [keys, setKeys] = useState('disable')
  const heir = keys === 'disable' ? undefined : keys === 'keep' ? null : keys
  const removing = useMemberChange(
    async () => {
      await removeMember(member.id, heir)
      // Everything on the page belongs to a workspace that is not shown any more.
      if (member.you) window.location.assign('/')
    },
    member.you ? TEXT.left : TEXT.removed,
    onClose,
  )
  const choices = [
    { value: 'disable', label: TEXT.disableKeys },
    { value: 'keep', label: TEXT.keepKeys },
    ...heirs.map(({ id, name }) => ({ value: id, label: TEXT.giveKeys(name) })),
  ]
  return (
    <ConfirmAction
      title={member.you ? TEXT.leaveTitle : TEXT.removeTitle(member.name)}
      text={TEXT.removeText}
      cancelLabel={TEXT.cancel}
      confirmLabel={member.you ? TEXT.leave : TEXT.remove}
      action={removing}
      failure={failureFrom(removing)}
      onClose={onClose}
    >
      <Choices legend={TEXT.keysOf}>
        {choices.map(({ value, label }) => (
          <Choice key={value} name="keys" label={label} checked={keys === value} onChange={() => setKeys(value)} />
        ))}
      </Choices>
    </ConfirmAction>
  )
}

export function HandOverDialog({ member, onClose }: MemberDialogProps) {
  const giving = useMemberChange(() => handOver(member.id), TEXT.handedOver, onClose)
  return (
    <ConfirmAction
      title={TEXT.handOverTitle(member.name)}
      text={TEXT.handOverText}
      cancelLabel={TEXT.cancel}
      confirmLabel={TEXT.handOver}
      action={giving}
      failure={failureFrom(giving)}
      onClose={onClose}
    />
  )
}
