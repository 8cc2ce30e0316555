import { useState } from 'react'
import { setPrice } from '../../api/operator.ts'
import { Choice, Choices, Field, Select } from '../../ui/field.tsx'
import { OPERATOR_WORDS as WORDS } from '../../words/operator.ts'
import { OrderForm, textOf } from './order-form.tsx'
import { useOrder } from './use-order.ts'

/** A price of the operator's own, for everybody or for one account. */
export function PriceDialog({ operations, onClose }: { operations: readonly string[]; onClose: () => void }) {
  const [one, setOne] = useState(false)
  const order = useOrder(
    (typed: { operation: string; usd: string; account?: string }) => setPrice(typed),
    WORDS.priceSet,
    onClose,
  )
  return (
    <OrderForm
      title={WORDS.price}
      order={order}
      onClose={onClose}
      read={(form) => {
        const [operation, usd, account] = [textOf(form, 'operation'), textOf(form, 'usd'), textOf(form, 'account')]
        const wrong = {
          ...(!/^\d{1,7}(\.\d{1,6})?$/.test(usd) && { usd: WORDS.amountWrong }),
          ...(one && account === '' && { account: WORDS.accountNeeded }),
        }
        return Object.keys(wrong).length > 0 ? { wrong } : { typed: { operation, usd, ...(one && { account }) } }
      }}
    >
      {(errors) => (
        <>
          <p className="text-muted">{WORDS.priceText}</p>
          <Field label={WORDS.operation}>
            {(control) => (
              <Select
                {...control}
                name="operation"
                options={operations.map((operation) => ({ value: operation, text: operation }))}
              />
            )}
          </Field>
          <Field label={WORDS.amount} hint={WORDS.priceHint} error={errors['usd']}>
            {(control) => <input {...control} name="usd" inputMode="decimal" required />}
          </Field>
          <Choices legend={WORDS.forWhom}>
            <Choice name="who" value="all" checked={!one} onChange={() => setOne(false)} label={WORDS.everybody} />
            <Choice name="who" value="one" checked={one} onChange={() => setOne(true)} label={WORDS.oneAccount} />
          </Choices>
          {one && (
            <Field label={WORDS.accountId} error={errors['account']}>
              {(control) => <input {...control} name="account" autoComplete="off" spellCheck={false} />}
            </Field>
          )}
        </>
      )}
    </OrderForm>
  )
}
