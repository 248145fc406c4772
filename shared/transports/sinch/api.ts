import type { JsonApi, JsonApiSettings } from '../http/json-api.ts';
import { createJsonApi } from '../http/json-api.ts';

export interface SinchSettings extends JsonApiSettings { planId: string }

export interface SinchApi extends JsonApi {
  batchesUrl: () => URL;
  /** Report of one recipient, intermediate statuses included. */
  recipientReportUrl: (batchId: string, recipient: string) => URL;
  /** Report of a whole batch: needs no number, but tells final statuses only. */
  batchReportUrl: (batchId: string) => URL;
  inboundsUrl: (filter: { to: string; since: string; page: number; pageSize: number }) => URL;
  listUrl: (filter: { reference: string; since: string; page: number; pageSize: number }) => URL;
}

/** A number as the API writes it: digits, with or without a plus. */
export const digitsOf = (number: string): string => number.replace(/^\+/, '');

/** Addresses of the batches API (`/xms/v1`). */
export const createSinchApi = ({ planId, ...settings }: SinchSettings): SinchApi => {
  const api = createJsonApi(settings);
  const batches = `/xms/v1/${encodeURIComponent(planId)}/batches`;
  const listing = (path: string, filter: Record<string, string>, { since, page, pageSize }: { since: string; page: number; pageSize: number }): URL => {
    const url = api.url(path);
    url.search = new URLSearchParams({ ...filter, start_date: since, page: String(page), page_size: String(pageSize) }).toString();
    return url;
  };
  return {
    ...api,
    batchesUrl: () => api.url(batches),
    recipientReportUrl: (batchId, recipient) => api.url(`${batches}/${encodeURIComponent(batchId)}/delivery_report/${encodeURIComponent(digitsOf(recipient))}`),
    batchReportUrl: (batchId) => api.url(`${batches}/${encodeURIComponent(batchId)}/delivery_report?type=full`),
    inboundsUrl: ({ to, ...how }) => listing(`/xms/v1/${encodeURIComponent(planId)}/inbounds`, { to: digitsOf(to) }, how),
    listUrl: ({ reference, ...how }) => listing(batches, { client_reference: reference }, how),
  };
};
