import { useState } from 'react'
import { type AccountLine, type Caps, grant, setLimits } from '../../api/operator.ts'
import { OPERATOR_TEXT as TEXT } from '../../messages/operator.ts'
import { Choice, Choices, Field } from '../../ui/field.tsx'
import { CapsFields, capsIn } from './caps-fields.tsx'
import { OrderForm, textOf } from './order-form.tsx'
import { useOrder } from './use-order.ts'

type DialogProps = { account: AccountLine; onClose: () => void }

/** Asks the operator for what belongs to the order. */
export function AccountDialog({ what, ...rest }: DialogProps & { what: 'grant' | 'limits' }) {
  return what === 'grant' ? <GrantDialog {...rest} /> : <LimitsDialog {...rest} />
}

function GrantDialog({ account, onClose }: DialogProps) {
  // One reference per dialog: pressed twice, or again after a cut, it is booked once.
  const [reference] = useState(() => crypto.randomUUID())
  const order = useOrder(
    (typed: { usd: string; note: string }) => grant(account.id, { ...typed, reference }),
    ({ usd }) => TEXT.granted(usd),
    onClose,
  )
  return (
    <OrderForm
      title={TEXT.grant}
      order={order}
      onClose={onClose}
      read={(form) => {
        const [usd, note] = [textOf(form, 'usd'), textOf(form, 'note')]
        const wrong = {
          ...(!/^\d{1,7}(\.\d{1,6})?$/.test(usd) || Number(usd) === 0 ? { usd: TEXT.amountWrong } : {}),
          ...(note === '' && { note: TEXT.noteNeeded }),
        }
        return Object.keys(wrong).length > 0 ? { wrong } : { typed: { usd, note } }
      }}
    >
      {(errors) => (
        <>
          <p className="text-muted wrap-anywhere">{TEXT.grantText(account.email ?? account.id)}</p>
          <Field label={TEXT.amount} hint={TEXT.amountHint} error={errors['usd']}>
            {(control) => <input {...control} name="usd" inputMode="decimal" required />}
          </Field>
          <Field label={TEXT.note} hint={TEXT.noteHint} error={errors['note']}>
            {(control) => <input {...control} name="note" defaultValue={TEXT.noteDefault} maxLength={200} required />}
          </Field>
        </>
      )}
    </OrderForm>
  )
}

function LimitsDialog({ account, onClose }: DialogProps) {
  const [own, setOwn] = useState(true)
  const order = useOrder((limits: Caps | null) => setLimits(account.id, limits), TEXT.limitsSet, onClose)
  return (
    <OrderForm
      title={TEXT.limits}
      order={order}
      onClose={onClose}
      read={(form) => (own ? capsIn(form) : { typed: null })}
    >
      {(errors) => (
        <>
          <Choices legend={TEXT.limitsText(account.email ?? account.id)}>
            <Choice name="how" value="own" checked={own} onChange={() => setOwn(true)} label={TEXT.ownLimits} />
            <Choice name="how" value="tier" checked={!own} onChange={() => setOwn(false)} label={TEXT.tierLimits} />
          </Choices>
          {own && <CapsFields caps={account.limits} errors={errors} />}
        </>
      )}
    </OrderForm>
  )
}
