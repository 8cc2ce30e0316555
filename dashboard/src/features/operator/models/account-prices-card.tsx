import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { toApiFailure } from '../../../api/client/failure.ts'
import { listState } from '../../../api/client/list-state.ts'
import { type AccountPrice, accountPricesQuery, setAccountPrice, soldModelsQuery } from '../../../api/models.ts'
import { MODEL_TEXT as TEXT } from '../../../messages/models.ts'
import { Button } from '../../../ui/button.tsx'
import { FormFailure } from '../../../ui/feedback/failure.tsx'
import { Empty } from '../../../ui/feedback/states.tsx'
import { Field, Select } from '../../../ui/field.tsx'
import { Card } from '../../../ui/layout/card.tsx'
import { type Column, Table } from '../../../ui/layout/table.tsx'
import { ActionForm, fieldText, useOperatorAction } from '../action-form.tsx'

const { accountPriceColumns: HEADS } = TEXT

/** What some accounts pay of the list prices of models. */
export function AccountPricesCard() {
  const prices = useQuery(accountPricesQuery)
  const [isSetting, setSetting] = useState(false)
  const ending = useOperatorAction(
    ({ account, model }: AccountPrice) => setAccountPrice({ account, percent: null, ...(model !== null && { model }) }),
    TEXT.accountPriceEnded,
    () => undefined,
  )
  return (
    <Card
      title={TEXT.accountPrices}
      flush
      aside={<Button onClick={() => setSetting(true)}>{TEXT.setAccountPrice}</Button>}
    >
      {ending.error && <FormFailure failure={toApiFailure(ending.error)} />}
      <Table
        caption={TEXT.accountPriceTable}
        columns={columnsOf(ending.isPending, ending.mutate)}
        rowKey={({ account, model }) => `${account} ${model}`}
        textOf={({ account, model }) => `${account} ${model}`}
        state={{ rows: prices.data?.filter(({ percent }) => percent !== null), ...listState(prices) }}
        empty={<Empty>{TEXT.noAccountPrices}</Empty>}
      />
      {isSetting && <AccountPriceDialog onClose={() => setSetting(false)} />}
    </Card>
  )
}

function columnsOf(isEnding: boolean, end: (price: AccountPrice) => void): readonly Column<AccountPrice>[] {
  return [
    {
      id: 'account',
      head: HEADS.account,
      cell: ({ account }) => <span className="code wrap-anywhere">{account}</span>,
    },
    { id: 'model', head: HEADS.model, cell: ({ model }) => model ?? TEXT.allModels },
    {
      id: 'percent',
      card: 'aside',
      head: HEADS.percent,
      numeric: true,
      cell: ({ percent }) => percent !== null && TEXT.ofListPrice(percent),
    },
    {
      id: 'act',
      card: 'below',
      head: HEADS.act,
      silent: true,
      numeric: true,
      cell: (price) => (
        <Button
          aria-label={`${TEXT.endAccountPrice}: ${price.account}, ${price.model ?? TEXT.allModels}`}
          busy={isEnding}
          onClick={() => end(price)}
        >
          {TEXT.endAccountPrice}
        </Button>
      ),
    },
  ]
}

function AccountPriceDialog({ onClose }: { onClose: () => void }) {
  const models = useQuery(soldModelsQuery).data ?? []
  const action = useOperatorAction(setAccountPrice, TEXT.accountPriceSet, onClose)
  return (
    <ActionForm
      title={TEXT.setAccountPrice}
      action={action}
      onClose={onClose}
      read={(form) => {
        const [account, percent, model] = [
          fieldText(form, 'account'),
          fieldText(form, 'percent'),
          fieldText(form, 'model'),
        ]
        const wrong = {
          ...(account === '' && { account: TEXT.accountNeeded }),
          ...((!/^\d{1,4}(\.\d{1,2})?$/.test(percent) || Number(percent) > 1000) && { percent: TEXT.percentWrong }),
        }
        if (Object.keys(wrong).length > 0) return { wrong }
        return { values: { account, percent: Number(percent), ...(model !== '' && { model }) } }
      }}
    >
      {(errors) => (
        <>
          <p className="text-muted">{TEXT.accountPricesLead}</p>
          <Field label={TEXT.account} hint={TEXT.accountHint} error={errors['account']}>
            {(control) => <input {...control} name="account" autoComplete="off" spellCheck={false} />}
          </Field>
          <Field label={TEXT.model}>
            {(control) => (
              <Select
                {...control}
                name="model"
                options={[{ value: '', text: TEXT.allModels }, ...models.map(({ id }) => ({ value: id, text: id }))]}
              />
            )}
          </Field>
          <Field label={TEXT.percent} hint={TEXT.percentHint} error={errors['percent']}>
            {(control) => <input {...control} name="percent" inputMode="decimal" />}
          </Field>
        </>
      )}
    </ActionForm>
  )
}
