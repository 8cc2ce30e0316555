import { queryOptions } from '@tanstack/react-query'
import type {
  ChangeModel,
  NewSoldModel as Form,
  OperatorModel as Model,
  VendorTest as Test,
  NewVendor as Vendor,
  VendorList,
} from '../../../server/http/operator/model-record.ts'
import type { ModelPrice, NewModelPrice } from '../../../server/http/operator/record.ts'
import { api, unwrap } from './client/client.ts'

export type SoldModel = Model
export type ModelVendor = VendorList['vendors'][number]
export type NewVendor = Vendor
export type NewSoldModel = Form
export type VendorTest = Test
export type AccountPrice = ModelPrice

/** All models on sale, as operators see them. */
export const soldModelsQuery = queryOptions({
  queryKey: ['operator', 'models', 'list'],
  queryFn: async () => (await unwrap(api.operator.models.get())).models,
})

/** Calls, revenue and cost of each model in the last 30 days. */
export const modelFiguresQuery = queryOptions({
  queryKey: ['operator', 'models', 'figures'],
  queryFn: async () => (await unwrap(api.operator.revenue.get({ query: { group_by: 'model' } }))).rows,
  refetchInterval: 30_000,
})

export const vendorsQuery = queryOptions({
  queryKey: ['operator', 'models', 'vendors'],
  queryFn: async () => (await unwrap(api.operator['model-vendors'].get())).vendors,
})

/** What a vendor answers to our key, and its models. Asks it each time, which costs nothing. */
export const vendorTestQuery = (name: string) =>
  queryOptions({
    queryKey: ['operator', 'models', 'test', name],
    queryFn: () => unwrap(api.operator['model-vendors']({ name }).test.post({})),
    refetchOnWindowFocus: false,
  })

export const addVendor = (form: NewVendor) => unwrap(api.operator['model-vendors'].post({ ...form }))
export const setVendorKey = (name: string, key: string) =>
  unwrap(api.operator['model-vendors']({ name }).key.post({ key }))
export const removeVendor = (name: string) => unwrap(api.operator['model-vendors']({ name }).delete())
export const sellModel = (vendor: string, form: NewSoldModel) =>
  unwrap(api.operator['model-vendors']({ name: vendor }).models.post({ ...form }))
export const changeModel = (id: string, change: ChangeModel) => unwrap(api.operator.models({ id }).patch({ ...change }))
export const accountPricesQuery = queryOptions({
  queryKey: ['operator', 'models', 'account-prices'],
  queryFn: async () => (await unwrap(api.operator.prices.get())).models,
})
/** A `percent` of null: the list price. */
export const setAccountPrice = (body: NewModelPrice) => unwrap(api.operator['model-prices'].post({ ...body }))
export const removeModel = (id: string) => unwrap(api.operator.models({ id }).delete())
