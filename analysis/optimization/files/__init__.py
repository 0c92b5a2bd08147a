"""Files of matrices and tables of values as samples; errors name the line."""
