"""Messages between the centre and vantage points: work orders, results, queues, journals."""
