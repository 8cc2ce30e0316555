import { type FormEvent, useState } from 'react'
import type { ApiOperation, ApiPrice } from '../../../api/apis.ts'
import { API_TEXT } from '../../../messages/apis.ts'
import { IMPORT_TEXT as TEXT } from '../../../messages/import-api.ts'
import { UI_TEXT } from '../../../messages/ui.ts'
import { Button } from '../../../ui/button.tsx'
import { Dialog, DialogButtons } from '../../../ui/dialogs/dialog.tsx'
import { PriceFields } from './price-fields.tsx'
import { type PriceErrors, priceValues, toPrice, validatePrice } from './price-values.ts'

const NO_ERRORS: PriceErrors = {}

/** The price of one operation of an import. Nothing is sent before the import. */
export function PlanPriceDialog({ operation, price, onPrice, onClose }: PlanPriceProps) {
  const [values, setValues] = useState(() => priceValues(price))
  const [tried, setTried] = useState(false)
  const wrong = validatePrice(values)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setTried(true)
    if (Object.keys(wrong).length === 0) onPrice(toPrice(values))
  }
  return (
    <Dialog title={TEXT.price} onClose={onClose}>
      <form noValidate onSubmit={submit} className="grid gap-4">
        <p className="text-muted wrap-anywhere">{API_TEXT.priceOf(operation.title ?? operation.id)}</p>
        <PriceFields
          values={values}
          errors={tried ? wrong : NO_ERRORS}
          onChange={(part) => setValues((before) => ({ ...before, ...part }))}
        />
        <DialogButtons>
          <Button onClick={onClose}>{UI_TEXT.cancel}</Button>
          <Button type="submit" tone="primary">
            {TEXT.price}
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  )
}

type PlanPriceProps = {
  operation: ApiOperation
  price: ApiPrice
  onPrice: (price: ApiPrice) => void
  onClose: () => void
}
