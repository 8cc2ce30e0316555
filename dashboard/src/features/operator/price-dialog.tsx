import { useState } from 'react'
import { type NewPrice, setPrice } from '../../api/operator.ts'
import { OPERATOR_TEXT as TEXT } from '../../messages/operator.ts'
import { Choice, Choices, Field, Select } from '../../ui/field.tsx'
import { ActionForm, fieldText, isUsd, useOperatorAction } from './action-form.tsx'

/** Overrides a price for all accounts or for one. */
export function PriceDialog({
  operations,
  onClose,
}: {
  operations: readonly NewPrice['operation'][]
  onClose: () => void
}) {
  const [one, setOne] = useState(false)
  const action = useOperatorAction((values: NewPrice) => setPrice(values), TEXT.priceSet, onClose)
  return (
    <ActionForm
      title={TEXT.price}
      action={action}
      onClose={onClose}
      read={(form) => {
        const [usd, account] = [fieldText(form, 'usd'), fieldText(form, 'account')]
        const operation = operations.find((one) => one === form.get('operation'))
        if (operation === undefined) return { wrong: {} }
        const wrong = {
          ...(!isUsd(usd) && { usd: TEXT.amountWrong }),
          ...(one && account === '' && { account: TEXT.accountNeeded }),
        }
        return Object.keys(wrong).length > 0 ? { wrong } : { values: { operation, usd, ...(one && { account }) } }
      }}
    >
      {(errors) => (
        <>
          <p className="text-muted">{TEXT.priceText}</p>
          <Field label={TEXT.operation}>
            {(control) => (
              <Select
                {...control}
                name="operation"
                options={operations.map((operation) => ({ value: operation, text: operation }))}
              />
            )}
          </Field>
          <Field label={TEXT.amount} hint={TEXT.priceHint} error={errors['usd']}>
            {(control) => <input {...control} name="usd" inputMode="decimal" required />}
          </Field>
          <Choices legend={TEXT.forWhom}>
            <Choice name="who" value="all" checked={!one} onChange={() => setOne(false)} label={TEXT.everybody} />
            <Choice name="who" value="one" checked={one} onChange={() => setOne(true)} label={TEXT.oneAccount} />
          </Choices>
          {one && (
            <Field label={TEXT.accountId} error={errors['account']}>
              {(control) => <input {...control} name="account" autoComplete="off" spellCheck={false} />}
            </Field>
          )}
        </>
      )}
    </ActionForm>
  )
}
