import { useState } from 'react'
import { failureFrom } from '../../../api/client/failure.ts'
import { randomId } from '../../../api/client/random-id.ts'
import {
  actOnKey,
  addNote,
  type Customer,
  type CustomerKey,
  debit,
  endSessions,
  erase,
  lift,
  type RoleChoice,
  refund,
  resetCustomerPassword,
  resetSecondFactor,
  setRole,
  suspend,
} from '../../../api/customer.ts'
import { CUSTOMER_TEXT as TEXT } from '../../../messages/customer.ts'
import { ConfirmAction } from '../../../ui/dialogs/confirm-action.tsx'
import { Choice, Choices, Field } from '../../../ui/field.tsx'
import { AccountDialog } from '../account-dialogs.tsx'
import { ActionForm, type FormResult, fieldText, isUsd, useOperatorAction } from '../action-form.tsx'

export type CustomerDialogName =
  | 'suspend'
  | 'lift'
  | 'note'
  | 'debit'
  | 'refund-charge'
  | 'refund'
  | 'password'
  | 'role'
  | 'erase'
  | 'grant'
  | 'limits'
  | 'max-keys'
  | 'end-sessions'
  | 'second-factor'
  | 'revoke-key'

type DialogProps = {
  customer: Customer
  payment?: { id: string; amount: string } | undefined
  revoked?: CustomerKey | undefined
  onClose: () => void
}

/** The dialogs of the operator's actions on one customer. */
export function CustomerDialog({ what, ...rest }: DialogProps & { what: CustomerDialogName }) {
  switch (what) {
    case 'suspend':
    case 'lift':
      return <SuspendDialog {...rest} isLifting={what === 'lift'} />
    case 'note':
      return <NoteDialog {...rest} />
    case 'debit':
    case 'refund':
    case 'refund-charge':
      return <MoneyDialog {...rest} what={what} />
    case 'password':
      return <PasswordDialog {...rest} />
    case 'role':
      return <RoleDialog {...rest} />
    case 'erase':
      return <EraseDialog {...rest} />
    case 'grant':
    case 'limits':
    case 'max-keys':
      return <AccountDialog what={what} account={rest.customer.account} onClose={rest.onClose} />
    case 'end-sessions':
    case 'second-factor':
    case 'revoke-key':
      return <ConfirmActDialog {...rest} what={what} />
  }
}

/** Asks before an act that cannot be undone. */
function ConfirmActDialog({ customer, revoked, what, onClose }: DialogProps & { what: keyof typeof CONFIRMED }) {
  const { id, email } = customer.account
  const { title, text, confirm, done } = CONFIRMED[what]
  const acting = useOperatorAction(
    (): Promise<unknown> => {
      if (what === 'end-sessions') return endSessions(id)
      return what === 'second-factor' ? resetSecondFactor(id) : actOnKey(id, revoked?.id ?? '', 'revoke')
    },
    done,
    onClose,
  )
  return (
    <ConfirmAction
      title={title(revoked?.name ?? email ?? id)}
      text={text}
      cancelLabel={TEXT.keep}
      confirmLabel={confirm}
      action={acting}
      failure={failureFrom(acting)}
      onClose={onClose}
    />
  )
}

const CONFIRMED = {
  'end-sessions': {
    title: TEXT.endSessionsTitle,
    text: TEXT.endSessionsText,
    confirm: TEXT.endSessions,
    done: TEXT.endSessionsDone,
  },
  'second-factor': {
    title: TEXT.resetSecondFactorTitle,
    text: TEXT.resetSecondFactorText,
    confirm: TEXT.resetSecondFactor,
    done: TEXT.resetSecondFactorDone,
  },
  'revoke-key': { title: TEXT.revokeTitle, text: TEXT.revokeText, confirm: TEXT.revoke, done: TEXT.keyDone },
} as const

/** The text of a required field, or what is wrong with it. */
function needed(form: FormData, name: string, message: string): FormResult<string> {
  const text = fieldText(form, name)
  return text === '' ? { wrong: { [name]: message } } : { values: text }
}

function SuspendDialog({ customer, isLifting, onClose }: DialogProps & { isLifting: boolean }) {
  const { id } = customer.account
  const action = useOperatorAction(
    (reason: string) => (isLifting ? lift(id, reason) : suspend(id, reason)),
    isLifting ? TEXT.liftDone : TEXT.suspendDone,
    onClose,
  )
  return (
    <ActionForm
      title={isLifting ? TEXT.lift : TEXT.suspend}
      action={action}
      onClose={onClose}
      read={(form) => needed(form, 'reason', TEXT.reasonNeeded)}
    >
      {(errors) => (
        <>
          <p className="text-muted">{isLifting ? TEXT.liftText : TEXT.suspendText}</p>
          <Field label={TEXT.reason} hint={TEXT.reasonHint} error={errors['reason']}>
            {(control) => <textarea {...control} name="reason" rows={3} maxLength={1000} required />}
          </Field>
        </>
      )}
    </ActionForm>
  )
}

function NoteDialog({ customer, onClose }: DialogProps) {
  const action = useOperatorAction((text: string) => addNote(customer.account.id, text), TEXT.noteDone, onClose)
  return (
    <ActionForm
      title={TEXT.note}
      action={action}
      onClose={onClose}
      read={(form) => needed(form, 'text', TEXT.noteNeeded)}
    >
      {(errors) => (
        <Field label={TEXT.noteField} hint={TEXT.noteHint} error={errors['text']}>
          {(control) => <textarea {...control} name="text" rows={4} maxLength={4000} required />}
        </Field>
      )}
    </ActionForm>
  )
}

interface Moved {
  readonly payment: string
  readonly usd: string
  readonly note: string
}

const MONEY = {
  debit: { title: TEXT.debit, done: TEXT.debitDone },
  refund: { title: TEXT.refund, done: TEXT.refundDone },
  'refund-charge': { title: TEXT.refundCharge, done: TEXT.refundChargeDone },
} as const

function MoneyDialog({ customer, payment, what, onClose }: DialogProps & { what: keyof typeof MONEY }) {
  const { id } = customer.account
  // One reference per dialog, so that a double click or a retry after a lost response books it once.
  const [reference] = useState(randomId)
  const action = useOperatorAction(
    ({ payment: of, usd, note }: Moved) =>
      what === 'debit'
        ? debit(id, { usd, note, reference })
        : refund(id, { payment: of, note, reference, ...(usd !== '' && { usd }) }),
    MONEY[what].done,
    onClose,
  )
  const read = (form: FormData): FormResult<Moved> => {
    const values = {
      payment: payment?.id ?? fieldText(form, 'payment'),
      usd: fieldText(form, 'usd'),
      note: fieldText(form, 'note'),
    }
    const isAmount = isUsd(values.usd) && Number(values.usd) > 0
    const wrong = {
      ...(what === 'refund-charge' && !values.payment.startsWith('req_') ? { payment: TEXT.requestNeeded } : {}),
      ...(isAmount || (what !== 'debit' && values.usd === '') ? {} : { usd: TEXT.amountWrong }),
      ...(values.note === '' && { note: TEXT.reasonNeeded }),
    }
    return Object.keys(wrong).length > 0 ? { wrong } : { values }
  }
  return (
    <ActionForm title={MONEY[what].title} action={action} onClose={onClose} read={read}>
      {(errors) => (
        <>
          <p className="text-muted">
            {what === 'debit' ? TEXT.debitText : payment ? TEXT.refundText(payment.amount) : TEXT.refundChargeText}
          </p>
          {what === 'refund-charge' && (
            <Field label={TEXT.request} error={errors['payment']}>
              {(control) => <input {...control} name="payment" className="code" required />}
            </Field>
          )}
          <Field label={TEXT.amount} hint={what === 'debit' ? undefined : TEXT.refundAmountHint} error={errors['usd']}>
            {(control) => <input {...control} name="usd" inputMode="decimal" required={what === 'debit'} />}
          </Field>
          <Field label={TEXT.reason} hint={TEXT.reasonHint} error={errors['note']}>
            {(control) => <input {...control} name="note" maxLength={200} required />}
          </Field>
        </>
      )}
    </ActionForm>
  )
}

function PasswordDialog({ customer, onClose }: DialogProps) {
  const [link, setLink] = useState<string | null>(null)
  const action = useOperatorAction(
    async (_: null) => {
      const made = await resetCustomerPassword(customer.account.id)
      setLink(made.link)
      return made
    },
    TEXT.resetPassword,
    () => undefined,
  )
  return (
    <ActionForm title={TEXT.resetPassword} action={action} onClose={onClose} read={() => ({ values: null })}>
      {() =>
        link === null ? (
          <p className="text-muted">
            {action.isSuccess ? TEXT.mailed : (customer.account.email ?? customer.account.id)}
          </p>
        ) : (
          <p className="grid gap-2">
            {TEXT.link}
            <span className="code wrap-anywhere">{link}</span>
          </p>
        )
      }
    </ActionForm>
  )
}

function RoleDialog({ customer, onClose }: DialogProps) {
  const [role, setChosen] = useState<RoleChoice>(customer.account.role)
  const action = useOperatorAction((next: RoleChoice) => setRole(customer.account.id, next), TEXT.roleDone, onClose)
  return (
    <ActionForm title={TEXT.role} action={action} onClose={onClose} read={() => ({ values: role })}>
      {() => (
        <Choices legend={TEXT.roleText}>
          {([null, 'support', 'operator'] as const).map((one) => (
            <Choice
              key={one}
              name="role"
              value={one ?? 'none'}
              checked={role === one}
              onChange={() => setChosen(one)}
              label={TEXT.roles[one ?? 'none']}
            />
          ))}
        </Choices>
      )}
    </ActionForm>
  )
}

function EraseDialog({ customer, onClose }: DialogProps) {
  const { id } = customer.account
  const action = useOperatorAction((confirm: string) => erase(id, confirm), TEXT.eraseDone, onClose)
  const read = (form: FormData): FormResult<string> =>
    fieldText(form, 'confirm') === id ? { values: id } : { wrong: { confirm: TEXT.eraseWrong } }
  return (
    <ActionForm title={TEXT.erase} action={action} onClose={onClose} read={read}>
      {(errors) => (
        <>
          <p className="text-muted wrap-anywhere">
            {TEXT.eraseText} {TEXT.eraseConfirm(id)}
          </p>
          <Field label={TEXT.eraseField} error={errors['confirm']}>
            {(control) => <input {...control} name="confirm" className="code" required />}
          </Field>
        </>
      )}
    </ActionForm>
  )
}
